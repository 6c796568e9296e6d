"""The digest of an episode's changes, and the globs that select guest paths.

Two episodes that left the same files have the same digest: it ignores modification times, owners
and the order of events.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Sequence

from agentgym.protocols import FileTree
from agentgym.records import Change, ChangeKind
from agentgym.records.pattern import fits_glob

HASHED_BYTES = 64 * 2**20


def state_hash(
    changes: Sequence[Change],
    tree: FileTree,
    volatile_paths: Sequence[str],
    until_s: float = math.inf,
) -> str:
    """Digest the paths that differ from the start.

    Args:
        changes: Changed paths, in any order.
        tree: The files at the end.
        volatile_paths: Globs (see `path_matches`) of paths to leave out.
        until_s: Time at which to stop, on the monotonic clock; an agent may leave more files than
            can be hashed in time.

    Returns:
        SHA-256 in hexadecimal over the sorted (path, kind of change) and, for paths that still
        exist, kind, permission bits, link target and content. A file over `HASHED_BYTES` counts
        with its size in place of its content. Empty if the time ran out.
    """
    digest = hashlib.sha256()
    for change in sorted(changes, key=lambda change: (change.path, change.kind)):
        if time.monotonic() > until_s:
            return ""
        if path_matches(change.path, volatile_paths):
            continue
        entry: list[str | int] = [change.path, change.kind.value]
        stat = None if change.kind is ChangeKind.DELETED else tree.stat(change.path, follow=False)
        if stat is not None:
            entry += [stat.kind, stat.mode, stat.target]
            if stat.kind == "file" and stat.size <= HASHED_BYTES:
                content = tree.read(change.path, max_bytes=HASHED_BYTES)
                entry.append(hashlib.sha256(content).hexdigest())
            elif stat.kind == "file":
                entry.append(stat.size)
        # ASCII escapes keep names that are not valid UTF-8 apart from each other.
        digest.update(json.dumps(entry, ensure_ascii=True).encode() + b"\n")
    return digest.hexdigest()


def path_matches(path: str, globs: Sequence[str]) -> bool:
    """Return whether an absolute guest path matches one of the globs.

    ``*``, ``?`` and ``[…]`` stay within one name, as in a shell; ``**`` stands for any number
    of names, none included: ``/srv/**`` matches ``/srv`` and all that is below it.
    """
    names = path.split("/")
    return any(_matches(names, glob.split("/")) for glob in globs)


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not names
    if pattern[0] == "**":
        return any(_matches(names[start:], pattern[1:]) for start in range(len(names) + 1))
    return bool(names) and fits_glob(names[0], pattern[0]) and _matches(names[1:], pattern[1:])
