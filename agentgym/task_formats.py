"""The registry of task formats: finds the format of a folder among the installed entry points.

agentgym's own format is not among them. A folder whose `task.toml` states its schema never reaches
a plug-in, so a broken plug-in cannot stop agentgym's own tasks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym import plugins
from agentgym.errors import AgentGymError, PluginError, TaskError, pass_interruptions
from agentgym.regular_file import read_regular

if TYPE_CHECKING:
    from agentgym.protocols import TaskFormat

GROUP = "agentgym.task_formats"
_OWN = re.compile(r"""^[ \t]*schema_version[ \t]*=[ \t]*["']agentgym\.task/""", re.MULTILINE)
_METHODS = ("detect", "load", "import_command")


@contextmanager
def plugin_errors(doing: str) -> Iterator[None]:
    """Turn an unexpected exception of a format into an error that names it.

    Args:
        doing: What the format does, with its name, for the message.

    Raises:
        PluginError: The block raised an exception that is not an AgentGymError.
    """
    try:
        yield
    except AgentGymError:
        raise
    except BaseException as error:  # a plug-in may raise anything
        pass_interruptions(error)
        # A path that the system refuses, such as one that is too long, is no fault of the format.
        advice = "" if isinstance(error, OSError) else "; repair or uninstall the format"
        raise PluginError(f"{doing}: {type(error).__name__}: {error!s:.1000}{advice}") from error


def names() -> list[str]:
    """Return the names of all installed formats, sorted."""
    return plugins.names(GROUP)


def load_format(name: str) -> TaskFormat:
    """Return the format with a name.

    Raises:
        NotFoundError: No installed package offers the format.
        PluginError: The entry point cannot be loaded, or its object breaks the protocol.
    """
    return _make(plugins.load(GROUP, name), name)


@cache
def _make(factory: type, name: str) -> TaskFormat:
    with plugin_errors(f"task format {name!r} cannot be made"):
        made: TaskFormat = factory()
    missing = [method for method in _METHODS if not callable(getattr(made, method, None))]
    if missing or getattr(made, "name", None) != name:
        lacking = f"{missing[0]}()" if missing else f"the name {name!r}"
        raise PluginError(
            f"task format {name!r} is a {type(made).__name__} without {lacking}; "
            "see agentgym.protocols.TaskFormat"
        )
    return made


def find_format(folder: Path) -> TaskFormat | None:
    """Return the format of a folder; None if it is agentgym's own or no format recognises it.

    Raises:
        TaskError: Several formats recognise the folder.
        PluginError: A format fails, and no other format recognises the folder.
    """
    if not os.path.isdir(folder) or _is_own(folder):
        return None
    claims, failed = _ask(folder)
    if len(claims) > 1:
        named = " and ".join(repr(claim.name) for claim in claims)
        raise TaskError(
            f"{folder}: the task formats {named} recognise this folder; expected one; "
            "uninstall the other, or take its files out of the folder"
        )
    if not claims and failed:
        raise failed[0]
    return claims[0] if claims else None


def failures(folder: Path) -> list[str]:
    """Return the errors of the formats that cannot say whether a folder is theirs."""
    return [str(error) for error in _ask(folder)[1]]


def _ask(folder: Path) -> tuple[list[TaskFormat], list[AgentGymError]]:
    """Return the formats that recognise a folder, and the errors of those that fail."""
    claims, failed = [], []
    for name in names():
        try:
            if _detects(name, folder):
                claims.append(load_format(name))
        except AgentGymError as error:
            failed.append(error)
    return claims, failed


def _is_own(folder: Path) -> bool:
    """Return whether a folder states agentgym's own schema."""
    try:
        return (
            _OWN.search(read_regular(folder / "task.toml").decode("utf-8", "replace")) is not None
        )
    except OSError:
        return False


def _detects(name: str, folder: Path) -> bool:
    found = load_format(name)
    with plugin_errors(f"task format {name!r} fails to look at {folder}"):
        return bool(found.detect(folder))
