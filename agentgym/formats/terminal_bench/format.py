"""The task format of classic terminal-bench."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agentgym.protocols import ForeignTask


class TerminalBenchFormat:
    """Folders with a `task.yaml`."""

    name = "terminal-bench"

    def detect(self, folder: Path) -> bool:
        """Return whether a folder holds a `task.yaml`."""
        return (folder / "task.yaml").is_file()

    def load(self, folder: Path) -> ForeignTask:
        """Read a task folder.

        Raises:
            TaskError: The task cannot be read, or needs something unsupported.
            MissingExtraError: PyYAML is not installed.
        """
        from agentgym.formats.sandboxed.task import sandbox_task
        from agentgym.formats.terminal_bench.manifest import read_terminal_bench

        manifest, rules = read_terminal_bench(folder)
        return sandbox_task(folder, rules, difficulty=manifest.difficulty, tags=manifest.tags)

    def import_command(self) -> Callable[..., None] | None:
        """Return None: such folders are named by their paths."""
        return None
