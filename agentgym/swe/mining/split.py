"""Splits a merged change into code and tests, and tells which changes cannot be an instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentgym.swe.clone import Clone
from agentgym.swe.mining.history import MergedChange
from agentgym.swe.patch import FileChange, Patch, PatchError
from agentgym.swe.test_paths import is_code, is_test_module, is_test_path

MAX_CODE_FILES: Final = 25
MAX_CODE_LINES: Final = 1500


class DroppedError(Exception):
    """A candidate that cannot be an instance.

    Args:
        reason: One of a few short reasons, which the report counts.
        detail: More of it, for the journal.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}" if detail else reason)


@dataclass(frozen=True, slots=True)
class SplitChange:
    """A change whose tests are apart from its code.

    Attributes:
        change: The change.
        code: Its code, documentation and settings.
        tests: Its tests.
    """

    change: MergedChange
    code: Patch
    tests: Patch


def split_change(clone: Clone, change: MergedChange) -> SplitChange:
    """Return the parts of a change.

    Raises:
        DroppedError: It has no tests or no code, or is too large.
    """
    try:
        whole = clone.changes(change.base, change.commit)
    except PatchError as error:
        raise DroppedError("too large", str(error)) from error
    tests, code = whole.only(is_test_path), whole.only(lambda path: not is_test_path(path))
    if not any(is_test_module(each.path) and each.after is not None for each in tests.changes):
        raise DroppedError("no tests changed")
    touched = [each for each in code.changes if is_code(each.path)]
    if not touched:
        raise DroppedError("no code changed")
    if len(touched) > MAX_CODE_FILES:
        raise DroppedError("too large", f"{len(touched)} code files")
    if (lines := sum(map(_lines, touched))) > MAX_CODE_LINES:
        raise DroppedError("too large", f"{lines} lines of code")
    return SplitChange(change, code, tests)


def _lines(change: FileChange) -> int:
    """Return the approximate number of lines that differ."""
    before = change.before.data.split(b"\n") if change.before else []
    after = change.after.data.split(b"\n") if change.after else []
    return len(set(before) ^ set(after))
