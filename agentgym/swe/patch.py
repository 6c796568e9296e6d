"""Patches as data: what an agent changed in a repository, computed from outside its sandbox.

Neither the agent's Git nor its configuration is asked: two file trees are compared. Generated files
(caches, virtual environments) and everything below a `.git` folder are left out.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentgym.errors import GuestFileError
from agentgym.protocols import FileTree
from agentgym.records import Change

PATCH_BYTES = 16 * 2**20
FILE_BYTES = 8 * 2**20
PATCH_FILES = 5_000
PATH_BYTES = 1_000
NAME_BYTES = 255
GENERATED = (
    "__pycache__",
    "*.pyc",
    "*.pyo",
    "*.egg-info",
    ".coverage",
    ".hypothesis",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "node_modules",
    "venv",
)
"""Names of files and folders that programs make; a patch holds them only if the base has them."""


class PatchError(GuestFileError):
    """A patch is too large, malformed, or does not apply."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a symbolic link of a repository, as Git sees it.

    Attributes:
        kind: ``"file"`` or ``"link"``.
        data: Content of the file, or target of the link.
        executable: Whether the file's owner may execute it.
    """

    kind: Literal["file", "link"]
    data: bytes
    executable: bool = False

    @property
    def git_mode(self) -> str:
        """The mode in Git's notation, such as ``100644``."""
        return "120000" if self.kind == "link" else "100755" if self.executable else "100644"


Lookup: TypeAlias = Callable[[str], Entry | None]
"""Returns the entry of a path of the base, None if it has none."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one path. It is deleted if `after` is None, added if `before` is None."""

    path: str
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True, slots=True)
class Patch:
    """Changes sorted by path. Paths are relative to the repository, without ``.`` and ``..``."""

    changes: tuple[FileChange, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The changed paths."""
        return tuple(change.path for change in self.changes)

    def only(self, keep: Callable[[str], bool]) -> Patch:
        """Return the changes of the paths for which `keep` is true."""
        return Patch(tuple(change for change in self.changes if keep(change.path)))


def patch_of(changes: Iterable[FileChange]) -> Patch:
    """Return a patch of changes in any order, without those that change nothing.

    Raises:
        PatchError: It is too large, a path is not relative and plain, or a path is below a file or
            link of the patch.
    """
    real = [change for change in changes if change.before != change.after]
    size = 0
    for count, change in enumerate(real, 1):
        check_path(change.path)
        size += len(change.after.data) if change.after else 0
        _check_size(count, size)
    made = {change.path for change in real if change.after is not None}
    for path in made:
        check_above(path, made.__contains__)
    return Patch(tuple(sorted(real, key=lambda change: change.path)))


def check_path(path: str) -> str:
    """Return the path of a patch.

    Raises:
        PatchError: It is absolute, leads out of the repository or into a ``.git`` folder.
    """
    parts = path.split("/")
    plain = path not in ("", ".") and not path.startswith("/") and posixpath.normpath(path) == path
    if not plain or ".." in parts or "\0" in path or len(path.encode(*_PATHS)) > PATH_BYTES:
        raise PatchError(f"a patch names {path[:200]!r}; expected a plain path in the repository")
    if any(len(part.encode(*_PATHS)) > NAME_BYTES for part in parts):
        raise PatchError(
            f"a patch names {path[:200]!r}; a name has at most {NAME_BYTES} bytes, as on any disk"
        )
    if any(part.lower() == ".git" for part in parts):
        raise PatchError(f"a patch changes {path[:200]!r}; files of Git are not part of a patch")
    return path


def check_above(path: str, is_taken: Callable[[str], bool]) -> None:
    """Refuse a path below a file or a link: a link may lead out of the repository.

    Args:
        path: Path of a file or link.
        is_taken: Whether a path is one of a file or link.

    Raises:
        PatchError: A part of the path is no folder.
    """
    for up in _above(path):
        if is_taken(up):
            raise PatchError(f"a patch puts {path[:200]!r} below a file or link, {up[:200]!r}")


def compare_trees(before: FileTree, after: FileTree, root: str, changes: Sequence[Change]) -> Patch:
    """Return what was changed below a folder.

    Args:
        before: The files that the agent found.
        after: The files that it left.
        root: The repository, an absolute guest path.
        changes: The paths that differ; others are not looked at.

    Raises:
        PatchError: The repository is gone, or the patch is too large.
    """
    top = after.stat(root, follow=False)
    if top is None or top.kind != "dir":
        raise PatchError(f"{root}: the repository was removed or replaced")
    found: dict[str, FileChange] = {}
    size = 0
    for path in sorted(_changed_names(before, root, changes)):
        was = read_entry(before, f"{root}/{path}", PATCH_BYTES)
        # A path below a link that the agent made is a path of another folder.
        gone = any(up in found and _is_link(found[up].after) for up in _above(path))
        left = 0 if len(found) == PATCH_FILES else PATCH_BYTES - size
        now = None if gone else read_entry(after, f"{root}/{path}", left)
        if was != now:
            size += len(now.data) if now else 0
            found[path] = FileChange(path, was, now)
            _check_size(len(found), size)
    return patch_of(found.values())


def _is_link(entry: Entry | None) -> bool:
    return entry is not None and entry.kind == "link"


def _changed_names(before: FileTree, root: str, changes: Sequence[Change]) -> list[str]:
    prefix, names = root.rstrip("/") + "/", []
    for change in changes:
        path = change.path.removeprefix(prefix)
        if path == change.path or any(part.lower() == ".git" for part in path.split("/")):
            continue
        if is_generated(path) and before.stat(change.path, follow=False) is None:
            continue
        names.append(path)
    return names


def is_generated(path: str) -> bool:
    """Return whether programs make files with this path, see `GENERATED`."""
    return any(fnmatch.fnmatchcase(part, glob) for part in path.split("/") for glob in GENERATED)


def read_entry(tree: FileTree, path: str, most_bytes: int = FILE_BYTES) -> Entry | None:
    """Return a file or link of a tree, None for anything else and below a link.

    Raises:
        PatchError: It is larger than `FILE_BYTES` or `most_bytes`.
    """
    stat = tree.stat(path, follow=False)
    if stat is None or stat.kind not in ("file", "link"):
        return None
    if stat.kind == "link":
        return Entry("link", stat.target.encode(*_PATHS))
    if stat.size > min(FILE_BYTES, most_bytes):
        raise PatchError(
            f"{path}: {stat.size} bytes are too many for a patch; a file may have "
            f"{FILE_BYTES >> 20} MiB, a patch {PATCH_BYTES >> 20} MiB in {PATCH_FILES} files"
        )
    return Entry("file", tree.read(path, max_bytes=FILE_BYTES), bool(stat.mode & 0o100))


def overlay(patch: Patch, gold: Mapping[str, Entry | None]) -> Patch:
    """Return a patch in which the grader's files replace the agent's.

    If the agent turned a folder above one of them into a file or a link, that is undone; what it
    put below the path of one of them is dropped.

    Args:
        patch: The agent's changes.
        gold: The grader's files by path; None for a path that must not exist.
    """
    wanted = {path for path, entry in gold.items() if entry is not None}
    folders = {folder for path in wanted for folder in _above(path)}
    kept = [
        FileChange(change.path, change.before, None) if change.path in folders else change
        for change in patch.changes
        if change.path not in gold and not any(up in wanted for up in _above(change.path))
    ]
    own = [FileChange(path, None, entry) for path, entry in gold.items()]
    return Patch(tuple(sorted([*kept, *own], key=lambda change: change.path)))


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _check_size(files: int, size: int) -> None:
    if files > PATCH_FILES or size > PATCH_BYTES:
        raise PatchError(
            f"a patch of {files} files and {size} bytes or more is too large; expected at most "
            f"{PATCH_FILES} files and {PATCH_BYTES >> 20} MiB"
        )


_PATHS = ("utf-8", "surrogateescape")
