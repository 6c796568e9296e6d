"""The task format of imported tau2-bench tasks: folders that point to a checkout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agentgym.formats.pointers import states_schema
from agentgym.formats.tau2 import SCHEMA
from agentgym.protocols import ForeignTask


class Tau2Format:
    """Folders that ``agentgym suite import tau2`` has written."""

    name = "tau2"

    def detect(self, folder: Path) -> bool:
        """Return whether a folder's `task.toml` states the schema of a pointer."""
        return states_schema(folder, SCHEMA)

    def load(self, folder: Path) -> ForeignTask:
        """Read the task that a folder points to; it starts the process of the domain.

        Raises:
            TaskError: The folder, the checkout or the task is broken.
            MissingExtraError: The checkout's interpreter lacks a package.
        """
        from agentgym.formats.tau2.task import tau2_task

        return tau2_task(folder)

    def import_command(self) -> Callable[..., None] | None:
        """Return the command that replays a checkout and writes its suites."""
        from agentgym.formats.tau2.command import import_suite

        return import_suite
