"""The task format of Harbor."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from agentgym.manifest import parse_toml
from agentgym.protocols import ForeignTask
from agentgym.regular_file import read_regular

_VERSION = re.compile(r"\d+(\.\d+)*")


class HarborFormat:
    """Folders with a `task.toml` whose schema version is absent or a number."""

    name = "harbor"

    def detect(self, folder: Path) -> bool:
        """Return whether a folder is Harbor's; one whose `task.toml` is broken TOML is, too."""
        if (folder / "checks").is_dir() or (folder / "task.yaml").is_file():
            return False  # agentgym's own folder with a broken task.toml, or terminal-bench's
        try:
            stated = parse_toml(read_regular(folder / "task.toml").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return True  # reading the task reports the error
        except OSError:
            return False
        return _VERSION.fullmatch(str(stated.get("schema_version", "1.0"))) is not None

    def load(self, folder: Path) -> ForeignTask:
        """Read a task folder.

        Raises:
            TaskError: The task cannot be read, or needs something unsupported.
        """
        from agentgym.formats.harbor.manifest import read_harbor
        from agentgym.formats.sandboxed.task import sandbox_task

        manifest, rules = read_harbor(folder)
        about = manifest.metadata
        return sandbox_task(
            folder, rules, difficulty=about.get("difficulty"), tags=about.get("tags")
        )

    def import_command(self) -> Callable[..., None] | None:
        """Return None: such folders are named by their paths."""
        return None
