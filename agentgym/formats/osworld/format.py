"""The task format of imported OSWorld tasks: folders that point to a checkout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agentgym.formats.osworld import SCHEMA
from agentgym.formats.pointers import states_schema
from agentgym.protocols import ForeignTask


class OSWorldFormat:
    """Folders that ``agentgym suite import osworld`` has written."""

    name = "osworld"

    def detect(self, folder: Path) -> bool:
        """Return whether a folder's `task.toml` states the schema of a pointer."""
        return states_schema(folder, SCHEMA)

    def load(self, folder: Path) -> ForeignTask:
        """Read the task that a folder points to.

        Raises:
            TaskError: The folder, the checkout or the task is broken, or something that the task
                needs is missing; names all of it.
        """
        from agentgym.formats.osworld.task import osworld_task

        return osworld_task(folder)

    def import_command(self) -> Callable[..., None] | None:
        """Return the command that reads a checkout and writes the suite."""
        from agentgym.formats.osworld.command import import_suite

        return import_suite
