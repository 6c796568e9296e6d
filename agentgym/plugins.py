"""Entry points by group, for plug-ins written in Python, the built-ins included.

The groups are `agentgym.sandboxes`, `agentgym.surfaces`, `agentgym.agents`, `agentgym.users`,
`agentgym.step_graders` and `agentgym.task_formats` (entry points as specified by PyPA).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from agentgym.errors import (
    AgentGymError,
    ConfigError,
    MissingExtraError,
    NotFoundError,
    PluginError,
    pass_interruptions,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from agentgym.protocols import SandboxProvider
    from agentgym.records import Problem

_OF_PROVIDERS: Final = ("problems", "start", "close")

_MOST_KNOWN: Final = 40
"""Names that the message about an unknown one lists."""

_NOUNS = {
    "agentgym.sandboxes": "sandbox",
    "agentgym.surfaces": "surface",
    "agentgym.agents": "agent",
    "agentgym.users": "user",
    "agentgym.step_graders": "step grader",
    "agentgym.task_formats": "task format",
    "agentgym.patch_scorers": "patch scorer",
}


def names(group: str) -> list[str]:
    """Return the sorted names that installed packages offer in a group."""
    return sorted({point.name for point in _points(group, tuple(sys.path))})


def load(group: str, name: str) -> Any:
    """Import the object with a name.

    Raises:
        NotFoundError: No installed package offers the name.
        MissingExtraError: The object needs an optional package that is not installed.
        PluginError: Its import fails, or two packages claim the name.
    """
    points = {point.value: point for point in _points(group, tuple(sys.path)) if point.name == name}
    noun = _NOUNS[group]
    if not points:
        known = names(group)
        more = f" and {len(known) - _MOST_KNOWN} more" if len(known) > _MOST_KNOWN else ""
        told = f"known: {', '.join(known[:_MOST_KNOWN])}{more}"
        raise NotFoundError(noun, name, known, told)
    if len(points) > 1:
        claims = " and ".join(sorted(f"{_package(p)} ({p.value})" for p in points.values()))
        raise PluginError(f"{noun} {name!r} is claimed by {claims}; uninstall one of them")
    (point,) = points.values()
    try:
        return point.load()
    except MissingExtraError:
        raise
    except BaseException as error:  # importing foreign code may raise anything
        pass_interruptions(error)
        raise PluginError(
            f"{noun} {name!r} of {_package(point)} cannot be loaded from {point.value!r}: "
            f"{type(error).__name__}: {error}; reinstall or repair that package"
        ) from error


def make_provider(name: str) -> SandboxProvider:
    """Create the sandbox provider with a name; the caller closes it.

    Raises:
        NotFoundError: No installed package offers the name.
        PluginError: The entry point cannot be loaded, or creates no provider.
    """
    from agentgym.protocols import SandboxProvider

    factory = load("agentgym.sandboxes", name)
    made = _made(f"sandbox {name!r} cannot be made", factory)
    _follows(made, f"sandbox {name!r}", SandboxProvider, _OF_PROVIDERS, ("name",))
    provider: SandboxProvider = made
    return provider


def problems_of(provider: SandboxProvider) -> list[Problem]:
    """Return why a sandbox provider cannot run here; an empty list if it can.

    Raises:
        UnsupportedError: It runs no sandboxes.
        PluginError: It cannot say.
    """
    from agentgym.records import Problem

    failing = f"sandbox {provider.name!r} cannot tell its problems"
    found = _made(failing, lambda: list(provider.problems()))
    if odd := [one for one in found if not isinstance(one, Problem)]:
        raise PluginError(f"{failing}: expected problems, got {odd[0]!r:.80}")
    return list(found)


def make(
    group: str,
    spec: str,
    *others: object,
    like: type,
    methods: Sequence[str],
    texts: Sequence[str] = (),
) -> Any:
    """Create what a spec names: ``factory(argument, *others)`` of the entry point.

    Args:
        group: Group of the entry points.
        spec: ``"<name>"`` or ``"<name>:<argument>"``.
        others: Further arguments of the factory.
        like: Name of the protocol that the object must follow, for the message.
        methods: Methods that the object must have.
        texts: Attributes that must hold text.

    Raises:
        NotFoundError: No installed package offers the name.
        ConfigError: The argument is not accepted.
        PluginError: The entry point cannot be loaded, or its object breaks the protocol.
    """
    name, _, argument = spec.partition(":")
    factory, noun = load(group, name), _NOUNS[group]
    made = _made(f"{noun} {name!r} cannot be made from {spec!r}", factory, argument, *others)
    _follows(made, f"{noun} {name!r}", like, methods, texts)
    return made


def no_argument(group: str, name: str, argument: str) -> None:
    """Refuse any argument, for plug-ins whose specs are their names.

    Raises:
        ConfigError: There is an argument.
    """
    if argument:
        raise ConfigError(f"{_NOUNS[group]} {name!r} takes no argument, got {argument!r}")


def _made(failing: str, factory: Callable[..., Any], *arguments: object) -> Any:
    """Call a plug-in.

    Raises:
        AgentGymError: It raised one itself.
        PluginError: It raised anything else.
    """
    try:
        return factory(*arguments)
    except AgentGymError:
        raise
    except BaseException as error:  # a plug-in may raise anything, and it is its failure
        pass_interruptions(error)
        raise PluginError(f"{failing}: {error}") from error


def _follows(
    made: object, what: str, like: type, methods: Sequence[str], texts: Sequence[str]
) -> None:
    """Raise a PluginError if an object lacks a method or a text of its protocol."""
    missing = [name for name in texts if not _is_text(getattr(made, name, None))]
    missing += [f"{name}()" for name in methods if not callable(getattr(made, name, None))]
    if missing:
        raise PluginError(
            f"{what} is a {type(made).__name__} without {missing[0]}; "
            f"see agentgym.protocols.{like.__name__}"
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


@cache
def _points(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    # Many processes look nothing up, and importing this takes longer than the rest of the module.
    from importlib.metadata import entry_points

    # Reading the metadata of every installed package takes milliseconds, and each episode needs it.
    try:
        return tuple(entry_points(group=group))
    except (OSError, ValueError) as error:
        raise PluginError(
            f"the entry points of {_unreadable()} cannot be read: {error!s:.300}; "
            "reinstall or remove that package"
        ) from error


def _unreadable() -> str:
    """Return the name of an installed package whose entry points cannot be read."""
    from importlib.metadata import distributions

    for package in distributions():
        try:
            _ = package.entry_points
        except (OSError, ValueError):
            return f"{package.name} in {package.locate_file('')}"
    return "an installed package"


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "an unknown package"
