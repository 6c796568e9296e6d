"""Files of a foreign task's folder that this process reads: regular ones, and none outside of it.

The folder may be a stranger's. A link in it could otherwise bring any file of this machine into the
instruction, and so to a model, or into a sandbox with a network.
"""

from __future__ import annotations

from pathlib import Path

from agentgym.errors import TaskError
from agentgym.manifest import show_path
from agentgym.regular_file import TEXT_BYTES, read_regular


def keep_inside(folder: Path, *paths: Path | None) -> None:
    """Refuse paths that lead out of a task's folder, by a link or by their name.

    Args:
        folder: The folder of the task.
        paths: What is read below it; None is skipped.

    Raises:
        TaskError: One leads out.
    """
    top = folder.resolve()
    for path in filter(None, paths):
        if not path.resolve().is_relative_to(top):
            raise TaskError(f"{show_path(path)}: leads out of the task's folder; put a copy there")


def read_task_file(path: Path, max_bytes: int = TEXT_BYTES) -> bytes:
    """Return the content of a regular file.

    Raises:
        TaskError: It cannot be read, is not a regular file, or is too large.
    """
    try:
        return read_regular(path, max_bytes)
    except OSError as error:
        raise TaskError(f"{show_path(path)}: cannot be read: {error.strerror}") from error
