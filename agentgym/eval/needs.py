"""Commands that tasks need and this machine lacks, each with the line that installs it.

Sandboxes built on the host's ``/usr`` have the host's commands: a missing one is found by
looking, before a sandbox is started. Package names are Debian's and Ubuntu's.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.task.model import Task
from agentgym.task.needs import install_command

GUEST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class MissingCommand:
    """A command that is not there, the tasks that need it, and how to add it."""

    command: str
    tasks: tuple[str, ...]

    @property
    def wanted_by(self) -> str:
        """Who needs it, in words."""
        more = len(self.tasks) - 1
        others = f" and {more} more" if more else ""
        return f"needed by {self.tasks[0]}{others}"

    @property
    def install(self) -> str:
        """The command that installs it."""
        return install_command([self.command])


def missing_commands(tasks: Sequence[Task]) -> list[MissingCommand]:
    """Return the commands these tasks need and the host's ``/usr`` does not have, by name."""
    wanted: dict[str, list[str]] = {}
    for task in tasks:
        for command in task.manifest.needs:
            wanted.setdefault(command, []).append(task.id)
    return [
        MissingCommand(command, tuple(ids))
        for command, ids in sorted(wanted.items())
        if shutil.which(command, path=GUEST_PATH) is None
    ]
