"""Files that were to stand as they were, beyond their contents and modes.

A file that was written again has the contents that it had and another modification time. A person
or a program that examines it, or sorts by that time, has lost something. A file that was replaced
by a copy of itself is another file, although its contents and its modification time are the same:
a program that has the old one open, or a lock on it, no longer shares it with anyone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentgym.errors import GuestFileError
from agentgym.protocols import Evidence, FileTree
from agentgym.records import CheckResult, CheckStatus

_MOST_ENTRIES: Final = 20_000


def times_kept(evidence: Evidence, tops: Sequence[str]) -> CheckResult:
    """Return whether all files at and below some paths have kept their modification times.

    Args:
        evidence: The evidence of the episode.
        tops: Absolute paths of files and folders.

    Raises:
        GuestFileError: There are too many entries below a path.
    """
    changed = (retimed(evidence.before, evidence.after, top) for top in tops)
    if found := next(filter(None, changed), ""):
        return CheckResult(CheckStatus.FAIL, f"{found} has another modification time")
    return CheckResult(CheckStatus.PASS, "all times are as they were")


def stood(evidence: Evidence, paths: Sequence[str]) -> CheckResult:
    """Return whether files are the very files that the agent found, never replaced or changed.

    The time of the last change of an entry tells it, which no program can set. It is also renewed
    by a change of permissions, so the instruction has to forbid that, too.

    Args:
        evidence: The evidence of the episode.
        paths: Absolute paths of files that existed before.
    """
    for path in paths:
        had, has = (tree.stat(path, follow=False) for tree in (evidence.before, evidence.after))
        if had is None or has is None or had.ctime_s != has.ctime_s:
            what = "is gone" if has is None else "was replaced or changed"
            return CheckResult(CheckStatus.FAIL, f"{path} {what}")
    return CheckResult(CheckStatus.PASS, "each is the file that it was")


def retimed(before: FileTree, after: FileTree, top: str) -> str:
    """Return the first file at or below a path with another modification time, else nothing.

    Files that are gone and files that are new are left to other checks.

    Args:
        before: The files as the agent found them.
        after: The files as the agent left them.
        top: Absolute path of a file or a folder.

    Raises:
        GuestFileError: There are too many entries below the path.
    """
    first = before.stat(top, follow=False)
    entries = before.walk(top) if first is not None and first.kind == "dir" else [(top, first)]
    for number, (path, had) in enumerate(entries):
        if number == _MOST_ENTRIES:
            raise GuestFileError(f"{top}: holds more than {_MOST_ENTRIES} entries")
        has = after.stat(path, follow=False)
        if had is None or has is None or {had.kind, has.kind} != {"file"}:
            continue
        if had.mtime_s != has.mtime_s:
            return path
    return ""
