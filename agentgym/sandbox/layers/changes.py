"""The changes of one stack of layers against another.

Standard library only, because it also runs in a child inside a user namespace (see
`operations.py`).
"""

from __future__ import annotations

import errno
import filecmp
import os
import stat

from agentgym.sandbox.layers.stack import OPAQUE, Stack, entries, is_opaque, is_real_dir

MOST_CHANGES = 100_000
MOST_PATH_BYTES = 16 * 2**20
"""Limits of a comparison: the number of differing names, and the bytes of their paths."""


def changes(
    before: list[str], after: list[str], binds: dict[str, str], opaque: str = OPAQUE
) -> list[tuple[str, str]]:
    """Return sorted (guest path, "added" | "modified" | "deleted") of one stack against another.

    The function reads only the layers that the two do not share. A file that overlayfs copied up
    and that did not change (same bytes, same mode) does not count.

    Raises:
        OSError: EOVERFLOW: the layers have more than `MOST_CHANGES` names, or their paths exceed
            `MOST_PATH_BYTES`, or folders are nested deeper than a path can name. A name occupies
            no disk space that a limit could bound.
    """
    budget = _Budget()
    shared = len(os.path.commonprefix([before[::-1], after[::-1]]))
    own = [*before[: len(before) - shared], *after[: len(after) - shared]]
    old, new = Stack(before, binds, opaque), Stack(after, binds, opaque)
    found = {}
    todo = [("", own, before, after)]
    while todo:
        here, own, was_in, now_in = todo.pop()
        for name, hides in _own_names(own, opaque, here, budget).items():
            path = f"{here}/{name}"
            was, now = old.step(was_in, name, path), new.step(now_in, name, path)
            kind = compare(was, now)
            if kind:
                found[path] = kind
            folders = _folders(was), _folders(now)
            # Below a name that hides or shows a whole directory, everything may differ.
            below = [*folders[0], *folders[1]] if hides else [f"{folder}/{name}" for folder in own]
            if any(folders):
                todo.append((path, [b for b in below if is_real_dir(b)], *folders))
    return sorted(found.items())


class _Budget:
    """The budget of one comparison: names and bytes of paths."""

    def __init__(self) -> None:
        self._names, self._bytes = MOST_CHANGES, MOST_PATH_BYTES

    def take(self, path_bytes: int) -> None:
        self._names -= 1
        self._bytes -= path_bytes
        if self._names < 0 or self._bytes < 0:
            said = (
                f"more than {MOST_CHANGES:,} names were changed, or their paths have more than "
                f"{MOST_PATH_BYTES >> 20} MiB"
            )
            raise OSError(errno.EOVERFLOW, said)


def _own_names(folders: list[str], opaque: str, here: str, budget: _Budget) -> dict[str, bool]:
    """Return the names in directories of single layers, and which of them hide lower content."""
    names: dict[str, bool] = {}
    for folder in folders:
        # A guest must not hide a file from the judge by the depth of its folder.
        for name, info in entries(folder, whole=True):
            budget.take(len(here) + 1 + len(name))
            is_dir = stat.S_ISDIR(info.st_mode)
            hides = not is_dir or is_opaque(f"{folder}/{name}", opaque)
            names[name] = names.get(name, False) or hides
    return names


def _folders(found: tuple[list[str], os.stat_result] | None) -> list[str]:
    return found[0] if found is not None and stat.S_ISDIR(found[1].st_mode) else []


def compare(
    old: tuple[list[str], os.stat_result] | None, new: tuple[list[str], os.stat_result] | None
) -> str:
    """Return how one lookup differs from another, or an empty text if they are equal."""
    if old is None or new is None:
        return "" if old is new else ("added" if old is None else "deleted")
    (old_paths, a), (new_paths, b) = old, new
    if stat.S_IFMT(a.st_mode) != stat.S_IFMT(b.st_mode) or a.st_mode != b.st_mode:
        return "modified"
    if _acl(old_paths[0]) != _acl(new_paths[0]):
        return "modified"
    if stat.S_ISREG(a.st_mode):
        same = filecmp.cmp(old_paths[0], new_paths[0], shallow=False)
    elif stat.S_ISLNK(a.st_mode):
        same = os.readlink(old_paths[0]) == os.readlink(new_paths[0])
    else:
        same = True
    return "" if same else "modified"


def _acl(path: str) -> list[bytes]:
    values = []
    for name in ("system.posix_acl_access", "system.posix_acl_default"):
        try:
            values.append(os.getxattr(path, name, follow_symlinks=False))
        except OSError:
            values.append(b"")
    return values
