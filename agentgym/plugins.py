"""Entry points by group: the door for Python kinds, the built-ins included.

The groups are `agentgym.sandboxes`, `agentgym.surfaces`, `agentgym.agents` and
`agentgym.step_graders` (entry points as specified by PyPA).
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from agentgym.errors import MissingExtraError, NotFoundError, PluginError

_NOUNS = {
    "agentgym.sandboxes": "sandbox",
    "agentgym.surfaces": "surface",
    "agentgym.agents": "agent",
    "agentgym.step_graders": "step grader",
}


def names(group: str) -> list[str]:
    """Return the sorted names that installed packages offer in a group."""
    return sorted({point.name for point in _points(group, tuple(sys.path))})


def load(group: str, name: str) -> Any:
    """Import what stands under a name.

    Raises:
        NotFoundError: No installed package offers the name.
        MissingExtraError: It needs an optional package that is not installed.
        PluginError: Its import fails, or two packages claim the name.
    """
    points = {point.value: point for point in _points(group, tuple(sys.path)) if point.name == name}
    noun = _NOUNS[group]
    if not points:
        known = names(group)
        raise NotFoundError(noun, name, known, f"known: {', '.join(known)}")
    if len(points) > 1:
        claims = " and ".join(sorted(f"{_package(p)} ({p.value})" for p in points.values()))
        raise PluginError(f"{noun} {name!r} is claimed by {claims}; uninstall one of them")
    (point,) = points.values()
    try:
        return point.load()
    except MissingExtraError:
        raise
    except Exception as error:  # importing foreign code may raise anything
        raise PluginError(
            f"{noun} {name!r} of {_package(point)} cannot be loaded from {point.value!r}: "
            f"{type(error).__name__}: {error}; reinstall or repair that package"
        ) from error


@cache
def _points(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    # Reading the metadata of every installed package takes milliseconds, and each episode asks.
    return tuple(entry_points(group=group))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "an unknown package"
