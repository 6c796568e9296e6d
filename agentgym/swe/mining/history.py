"""The merged changes of a clone: commits of its main line, each with its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentgym.swe.clone import Clone, commit_time

_MERGE: Final = re.compile(r"Merge pull request #(\d+) from \S+")
_SQUASH: Final = re.compile(r"(?<!\s)\s*+\(#(\d+)\)\s*$")
_MAX_MESSAGE: Final = 20_000


@dataclass(frozen=True, slots=True)
class MergedChange:
    """One commit of the main line.

    Attributes:
        commit: Its id.
        base: Id of its first parent, the state before it.
        subject: Title of the pull request or the commit.
        body: The rest of its message; for a merge also the messages that it merges.
        number: Number of the pull request; None if the message does not tell.
        merged_at: Time of the commit, in UTC.
    """

    commit: str
    base: str
    subject: str
    body: str
    number: int | None
    merged_at: datetime

    @property
    def quarter(self) -> str:
        """The quarter of its year, like ``"2024q2"``: one environment serves it."""
        return f"{self.merged_at.year}q{(self.merged_at.month + 2) // 3}"


def merged_changes(
    clone: Clone, start: str = "HEAD", limit: int = 1_000_000
) -> Iterator[MergedChange]:
    """Yield the commits of a branch's main line, newest first, without the first one.

    Args:
        clone: The clone.
        start: Branch, tag or commit.
        limit: Largest number of commits.

    Raises:
        TaskError: The clone cannot be read.
    """
    fields = "%H%x00%P%x00%ct%x00%B%x00%x01"
    most = f"--max-count={limit}"
    said = clone.git("log", "--first-parent", most, f"--format={fields}", clone.commit(start))
    for entry in said.decode("utf-8", "replace").split("\x01"):
        if entry.count("\0") < 4:
            continue
        commit, parents, seconds, message, *_ = entry.strip("\n").split("\0")
        if not parents:
            continue
        subject, body, number = _told(message[:_MAX_MESSAGE])
        base, *merged = parents.split()
        if merged and not body:
            body = _merged_messages(clone, base, merged[0])
        yield MergedChange(commit, base, subject, body, number, commit_time(seconds))


def _told(message: str) -> tuple[str, str, int | None]:
    """Return title, text and the number of the pull request."""
    subject, _, body = message.strip().partition("\n")
    if merge := _MERGE.match(subject):
        title, _, rest = body.strip().partition("\n")
        return title.strip() or subject, rest.strip(), int(merge[1][:9])
    squashed = _SQUASH.search(subject)
    number = int(squashed[1][:9]) if squashed else None
    return _SQUASH.sub("", subject).strip(), body.strip(), number


def _merged_messages(clone: Clone, base: str, merged: str) -> str:
    said = clone.git("log", "--no-merges", "-n", "20", "--format=%B", f"{base}..{merged}")
    return said.decode("utf-8", "replace")[:_MAX_MESSAGE].strip()
