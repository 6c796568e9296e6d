"""Finds the task folders that a user names by id, suite, glob of the catalogue, or path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agentgym import catalogue, task_formats
from agentgym.errors import ConfigError


def task_folders(patterns: Sequence[str]) -> list[Path]:
    """Return the folders of the tasks that patterns name, each once, in their order.

    Args:
        patterns: Task ids, suites or globs as `agentgym eval` takes them, or paths of folders
            that are tasks or hold tasks; if empty, everything below ``./tasks``.

    Raises:
        NotFoundError: A pattern matches nothing.
        ConfigError: A folder holds no task.
    """
    if not patterns:
        if not Path("tasks").is_dir():
            raise ConfigError(
                "there is no ./tasks folder here; name tasks, e.g. agentgym task check terminal, "
                "or begin one: agentgym task new my-suite/my-task"
            )
        return _below(Path("tasks"))
    found: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(os.path.expanduser(pattern))
        is_path = pattern.startswith((".", "/", "~")) and os.path.isdir(path)
        if is_path or os.path.isfile(path / "task.toml"):
            found.update(dict.fromkeys(_below(path)))
        else:
            ids = catalogue.match_tasks(pattern)
            found.update({catalogue.find("tasks", task_id): None for task_id in ids})
    return list(found)


def one_task(pattern: str) -> Path:
    """Return the folder of the only task that a pattern names.

    Raises:
        NotFoundError: The pattern matches nothing.
        ConfigError: The pattern matches several tasks.
    """
    found = task_folders([pattern])
    if len(found) > 1:
        names = ", ".join(folder.name for folder in found[:5])
        raise ConfigError(f"{pattern!r} names {len(found)} tasks; expected one of: {names}")
    return found[0]


def _below(path: Path) -> list[Path]:
    """Return the folder itself if it is a task, else the tasks in it."""
    if catalogue.is_task(path):
        return [path.resolve()]
    below = (folder for depth in ("*", "*/*") for folder in path.glob(f"{depth}/"))
    folders = [folder for folder in below if catalogue.is_task(folder)]
    if not folders:
        told = f"{path}: expected a task, a suite or a folder of suites, found no task in it"
        raise ConfigError("; ".join((told, *task_formats.failures(path))))
    return sorted(folder.resolve() for folder in folders)
