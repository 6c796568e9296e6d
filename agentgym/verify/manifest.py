"""The files that an episode changed, with a digest that does not depend on the time of day.

Each file has two digests: of its bytes, and of its bytes with volatile text masked. If the second
digests of two ends agree, the ends differ in volatile text only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agentgym.errors import GuestFileError
from agentgym.protocols import FileTree
from agentgym.record.volatile.contents import Contents
from agentgym.record.volatile.masking import Masking
from agentgym.records import Change, ChangeKind, Json
from agentgym.task.state import path_matches

MOST_FILES: Final = 2000
MOST_PATH_PARTS: Final = 100_000
"""Limit on the summed depths of all paths; a deep tree takes quadratic time to look up."""
MOST_PATH_CHARS: Final = 1 << 20
MASKED_BYTES: Final = 2 << 20
"""Number of bytes of all files together that are masked; each MiB takes a second or more."""
_MASKED_FILE_BYTES: Final = 256 << 10
_ADDED_FOLDER: Final = f"{ChangeKind.ADDED} dir "
_READ_BYTES: Final = 4 << 20


def list_files(
    changes: Sequence[Change], tree: FileTree, volatile_paths: Sequence[str], masking: Masking
) -> list[Json] | None:
    """Return ``[path, masked path, kind, digest, masked digest]`` of each changed path.

    Args:
        changes: The differences from the start.
        tree: The files at the end.
        volatile_paths: Globs of paths to leave out.
        masking: Rules for volatile text.

    Returns:
        The entries in the order of their masked paths; None for too many files.
    """
    parts = sum(change.path.count("/") for change in changes)
    letters = sum(len(change.path) for change in changes)
    if len(changes) > MOST_FILES or parts > MOST_PATH_PARTS or letters > MOST_PATH_CHARS:
        return None
    found, readable = list[tuple[str, str, str]](), dict[str, bytes]()
    left = MASKED_BYTES
    for change in sorted(changes, key=lambda change: change.path):
        if path_matches(change.path, volatile_paths):
            continue
        what, data = _look(change, tree)
        found.append((change.path, what, _digest(data)))
        if data and len(data) <= min(left, _MASKED_FILE_BYTES):
            readable[change.path] = data
            left -= len(data)
    contents = Contents(readable, masking)
    masked = {path: _digest(contents.masked(path, data)) for path, data in readable.items()}
    entries = []
    for path, what, digest in found:
        if what.startswith(_ADDED_FOLDER) and contents.is_volatile(path):
            continue
        shown = path.encode("utf-8", "backslashreplace").decode()
        entries.append([shown, contents.path(shown), what, digest, masked.get(path, digest)])
    return [*_in_order(entries)]


def _in_order(entries: Iterable[Any]) -> list[Any]:
    # Entries may have the same masked path: a folder and a file with temporary names.
    return sorted(entries, key=lambda entry: (entry[1], entry[2], entry[4]))


def _look(change: Change, tree: FileTree) -> tuple[str, bytes]:
    """Return the kind and the content of a changed path."""
    what, data = change.kind.value, b""
    stat = None if change.kind is ChangeKind.DELETED else tree.stat(change.path, follow=False)
    if stat is not None:
        what += f" {stat.kind} {stat.mode:o}"
        data = stat.target.encode("utf-8", "surrogateescape")
        if stat.kind == "file":
            try:
                data = tree.read(change.path, max_bytes=_READ_BYTES)
            except GuestFileError:
                # As in the state hash, the size stands for the content of a very large file.
                data = f"{stat.size} bytes".encode()
    return what, data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def differing_files(
    recorded: Mapping[str, Json], seen: Mapping[str, Json]
) -> tuple[str, ...] | None:
    """Compare the evidence of two ends of an episode.

    Returns:
        The present names of the files that differ in volatile text only; None if anything else
        differs, or if the comparison is impossible.
    """
    was, now = recorded.get("files"), seen.get("files")
    if not isinstance(was, list) or not isinstance(now, list) or len(was) != len(now):
        return None
    if not all(map(_is_entry, was + now)):
        return None
    if recorded.get("services") != seen.get("services"):
        return None
    found = []
    for one, other in zip(_in_order(was), _in_order(now), strict=True):
        if one[1:3] != other[1:3]:
            return None
        if (one[0], one[3]) != (other[0], other[3]):
            if one[4] != other[4]:
                return None
            found.append(str(other[0]))
    return tuple(found)


def _is_entry(value: object) -> bool:
    return isinstance(value, list) and len(value) == 5 and all(isinstance(v, str) for v in value)
