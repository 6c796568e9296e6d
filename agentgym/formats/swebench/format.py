"""The task format of imported instances: folders with an instance and the context of its image."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from agentgym.formats.pointers import states_schema
from agentgym.protocols import ForeignTask

_SCHEMA: Final = "agentgym.swebench/1"


class SweBenchFormat:
    """Folders that ``agentgym task import swebench`` and ``agentgym task mine`` have written."""

    name = "swebench"

    def detect(self, folder: Path) -> bool:
        """Return whether a folder's `task.toml` states the schema."""
        return states_schema(folder, _SCHEMA)

    def load(self, folder: Path) -> ForeignTask:
        """Read a task folder.

        Raises:
            TaskError: A file of it is absent or broken.
        """
        from agentgym.formats.swebench.task import swebench_task

        return swebench_task(folder)

    def import_command(self) -> Callable[..., None] | None:
        """Return the command that writes the folders of a file of instances."""
        from agentgym.formats.swebench.command import import_suite

        return import_suite
