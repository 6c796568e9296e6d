"""The gold patch of a task and the files that it starts from, read from the task's folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from agentgym.errors import AgentGymError, TaskError
from agentgym.manifest import load_toml, show_path
from agentgym.records import Repair
from agentgym.swe.apply import apply_diff
from agentgym.swe.diagnosis.commands import read_commands
from agentgym.swe.native import IssueManifest
from agentgym.swe.patch import Entry, Patch, PatchError
from agentgym.swe.specs.image import CONTEXT, REPOSITORY
from agentgym.swe.task_folder import files_below, read_task
from agentgym.task.model import Task


class FolderTexts(Mapping[str, str]):
    """The text files of a folder by relative path, read when they are asked for.

    Args:
        root: The folder; links in it are not followed.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._find = files_below(root)
        self._read: dict[str, str | None] = {}

    def __getitem__(self, path: str) -> str:
        if path not in self._read:
            try:
                self._read[path] = text_of(self._find(path))
            except (PatchError, OSError, ValueError):
                self._read[path] = None
        text = self._read[path]
        if text is None:
            raise KeyError(path)
        return text

    def __iter__(self) -> Iterator[str]:
        for folder, names, files in os.walk(self._root):
            names[:] = sorted(name for name in names if name != ".git")
            for name in sorted(files):
                path = Path(folder, name).relative_to(self._root).as_posix()
                if path in self:
                    yield path

    def __len__(self) -> int:
        return sum(1 for _ in self)


def text_of(entry: Entry | None) -> str | None:
    """Return the text of a file, None for anything that is not UTF-8 text."""
    if entry is None or entry.kind != "file":
        return None
    try:
        return entry.data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def repair_of(task: Task) -> Repair | None:
    """Return what the solution of a task about a repository changes, None for another task.

    Raises:
        AgentGymError: The task is about a repository, and its patch cannot be read.
    """
    if task.foreign is not None:
        if task.foreign.format != "swebench":
            return None
        own = read_task(task.folder)
        base = own.context / CONTEXT
        return _repair(REPOSITORY, base, own.tests().gold)
    if not (task.folder / "checks" / "issue.toml").is_file():
        return None
    root = load_toml(task.folder / "checks" / "issue.toml", IssueManifest, TaskError).root
    base = task.folder / "setup" / "repo"
    return _repair(root, base, _solution(task.folder / "solution" / "solve.sh", files_below(base)))


def _repair(root: str, base: Path, gold: Patch) -> Repair:
    after = {change.path: text_of(change.after) for change in gold.changes}
    return Repair(root, FolderTexts(base), after)


def _solution(script: Path, base: Callable[[str], Entry | None]) -> Patch:
    """Return the patch that a solution gives to `git apply`.

    Raises:
        TaskError: It gives none, or one that does not apply.
    """
    try:
        commands = read_commands(script.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{show_path(script)}: {error}") from None
    for command in commands:
        if command.words[:2] == ("git", "apply") and command.stdin is not None:
            try:
                return apply_diff(command.stdin, base)
            except AgentGymError as error:
                raise TaskError(f"{show_path(script)}: {error}") from None
    raise TaskError(f"{show_path(script)}: expected `git apply` with a patch as here-document")
