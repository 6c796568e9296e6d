"""Decides which parts of a record are trusted when it is executed again.

A record may come from a stranger. The folders, providers and programs that it names get no trust: a
task outside the catalogues, a provider without isolation or a surface that reaches out of the
sandbox is used only if the user named it, too. docs/trust.md says what runs where, and with whose
rights.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agentgym import catalogue, plugins
from agentgym.env.spec import spec_of
from agentgym.errors import AgentGymError, ConfigError
from agentgym.records import Capability
from agentgym.regular_file import read_regular
from agentgym.task.adhoc import is_laid_down
from agentgym.task.model import Task

USUAL_SANDBOX = "bubblewrap"


class UnnamedError(ConfigError):
    """A record names something that only the user may name.

    Attributes:
        reason: The name, and the harm that it could do.
        options: Command-line options with which the user names it.
    """

    def __init__(self, reason: str, *options: str) -> None:
        self.reason = reason
        self.options = options
        super().__init__(f"{reason}; if you trust it, add: {shlex.join(options)}")


@dataclass(frozen=True, slots=True)
class Named:
    """Arguments of the command line that the record is not trusted to give.

    Attributes:
        tasks: Ids of tasks and paths of task folders.
        sandbox: A sandbox provider, None for the recorded one.
    """

    tasks: Sequence[str] = ()
    sandbox: str | None = None

    def task(self, recorded: str) -> str:
        """Return the id or path by which a recorded task is looked up.

        A named folder also stands for a recorded one of the same name in another place. Free play
        is in the cache, where this user's own agentgym wrote it.

        Raises:
            UnnamedError: The task is a folder outside the catalogues, or came with the run, and the
                user did not name it.
        """
        folder = catalogue.path_of(recorded)
        if folder is None:
            came = _in_a_run(recorded)
            if came is None or catalogue.with_version(recorded) in self.tasks:
                return recorded
            raise UnnamedError(
                f"the record names the task {recorded}, which is in a run folder ({came}): its "
                "checks and services would run as Python with your rights",
                *("--task", recorded),
            )
        if (given := self._given(folder)) is not None:
            return str(given)
        if is_laid_down(folder):
            return str(folder)
        raise UnnamedError(
            f"the record names the task folder {folder}, which is in no catalogue: its checks "
            "and services would run as Python with your rights",
            *("--task", str(folder)),
        )

    def admit(self, recorded: str, task: Task) -> None:
        """Check that recorded actions stay in the sandbox.

        Args:
            recorded: The task as the record names it.
            task: The loaded task.

        Raises:
            UnnamedError: They would leave the sandbox, and the user did not name the task.
        """
        folder = catalogue.path_of(recorded)
        if recorded in self.tasks or (folder is not None and self._given(folder) is not None):
            return
        if (outer := reaching_out(task)) is None:
            return
        raise UnnamedError(
            f"the recorded actions of {recorded} would go to surface {outer!r}, whose programs "
            "run outside the sandbox",
            *("--task", recorded),
        )

    def provider(self, recorded: str) -> str:
        """Return the sandbox provider to use for a recorded episode.

        Raises:
            UnnamedError: The recorded one does not isolate, and the user did not name it.
            AgentGymError: The provider cannot be loaded.
        """
        if self.sandbox:
            return self.sandbox
        name = recorded or USUAL_SANDBOX
        if not isolates(name):
            raise UnnamedError(
                f"the record names sandbox {name!r}, which isolates nothing: the recorded "
                "commands would read your files and use your network (--sandbox "
                f"{USUAL_SANDBOX} isolates them)",
                *("--sandbox", name),
            )
        return name

    def _given(self, folder: Path) -> Path | None:
        """Return the folder that the user named in place of a recorded one."""
        given = [path for name in self.tasks if (path := catalogue.path_of(name)) is not None]
        if folder in given:
            return folder
        moved = [path for path in given if path.name == folder.name]
        return moved[0] if len(moved) == 1 else None


def _in_a_run(task: str) -> Path | None:
    """Return the folder of a task of the working directory, if that is a run folder or inside one.

    A run may come from a stranger, with a catalogue of its own beside the record.
    """
    with suppress(FileNotFoundError):  # the working directory may have been deleted
        here = Path.cwd()
        folder = here / "tasks" / catalogue.without_version(task)
        if not folder.is_dir() or catalogue.origin(folder) != "working directory":
            return None
        if any(map(_is_run, (here, *here.parents))):
            return folder
    return None


def _is_run(folder: Path) -> bool:
    """Whether a folder is that of an evaluation or of a training run."""
    if any(os.path.lexists(folder / name) for name in ("run.db", "checkpoint.pt")):
        return True
    with suppress(OSError):
        return b"agentgym.train/" in read_regular(folder / "config.json")
    return False


NOTHING_NAMED = Named()
"""The user named nothing: only the record is used."""


def isolates(sandbox: str) -> bool:
    """Return whether a sandbox provider declares that its sandboxes are isolated.

    Raises:
        AgentGymError: The provider cannot be loaded.
    """
    provider = plugins.make_provider(sandbox)
    return Capability.ISOLATION in provider.capabilities


def reaching_out(task: Task) -> str | None:
    """Return the name of a surface of a task whose programs run outside the sandbox, if any.

    Return None for a broken environment: opening it reports the error.
    """
    with suppress(AgentGymError):
        for name in spec_of(task).surfaces:
            if getattr(plugins.load("agentgym.surfaces", name), "reaches_out", False):
                return name
    return None


def named_tasks(given: Sequence[str]) -> tuple[str, ...]:
    """Return the ids and absolute paths of the tasks that a user names with ``--task``.

    Raises:
        NotFoundError: A name belongs to no task.
    """
    found: list[str] = []
    for name in given:
        here = Path(os.path.abspath(os.path.expanduser(name)))
        is_folder = catalogue.path_of(name) is None and here.is_dir()
        found += catalogue.match_tasks(str(here) if is_folder else name)
    return tuple(found)
