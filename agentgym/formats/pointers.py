"""Task folders that point to programs and files of this machine: who may have written them.

A stranger's folder could name any program to run and any folder to read, so only those are followed
that an import has written into this user's own catalogue.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from agentgym import catalogue
from agentgym.errors import ConfigError, TaskError
from agentgym.manifest import show_path


def must_be_imported(folder: Path, command: str) -> None:
    """Refuse a folder unless it is a task of the catalogue of imported suites.

    Args:
        folder: The folder of the task.
        command: The command that imports such tasks.

    Raises:
        TaskError: It is elsewhere.
    """
    with suppress(ConfigError):  # without a cache folder nothing was imported
        if folder.resolve().parents[1] == (catalogue.imported_dir() / "tasks").resolve():
            return
    raise TaskError(
        f"{show_path(folder)}: it names programs and files of this machine, so it is followed only "
        f"where an import has written it; run: {command}"
    )
