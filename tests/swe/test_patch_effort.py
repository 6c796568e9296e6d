"""Patches made to take cubic time end soon, and stay right."""

import pytest

from agentgym.swe import apply, diff
from agentgym.swe.apply import apply_diff
from agentgym.swe.diff import write_diff
from agentgym.swe.patch import Entry, FileChange, Patch, PatchError


def change(path, old, new):
    return FileChange(path, Entry("file", old.encode(), False), Entry("file", new.encode(), False))


def repetitive(number):
    """Return two files that repeat a few lines: difflib needs half a minute for 2,000 lines."""
    old = "head\n" + "x\ny\n" * 900 + f"{number}\n"
    return old, "x\nx\ny\nz\n" * 450 + f"end {number}\n"


def applied(text, changes):
    base = {each.path: each.before for each in changes}
    return {each.path: each.after.data for each in apply_diff(text, base.get).changes}


def test_files_that_repeat_a_few_lines_are_compared_within_a_budget(monkeypatch):
    monkeypatch.setattr(diff, "_COMPARISONS", 2_000_000)
    changes = tuple(change(f"f{n}", *repetitive(n)) for n in range(20))
    honest = change("g", "a\nb\nc\nd\n", "a\nb\nx\nd\n")
    text = write_diff(Patch((*changes, honest)))
    assert applied(text, (*changes, honest)) == {
        each.path: each.after.data for each in (*changes, honest)
    }
    assert text.count("@@ -1,1802") == 20  # as a whole
    first = write_diff(Patch((honest,)))
    assert first.count("\n-") == 2 and first in text  # the header's line, and one line


def test_a_hunk_that_nearly_fits_everywhere_is_refused(monkeypatch):
    monkeypatch.setattr(apply, "_COMPARISONS", 100_000)
    base = {"a": Entry("file", b"x\n" * 20_000, False)}
    lines = " x\n" * 400 + " y\n+z\n"
    text = f"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,401 +1,402 @@\n{lines}"
    with pytest.raises(PatchError, match="in too many places|looked for|does not apply"):
        apply_diff(text, base.get)
    moved = f"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -30000,4 +30000,5 @@\n{' x' + chr(10)}" + (
        " x\n x\n+z\n x\n"
    )
    assert applied_size(moved, base) == 40_002


def applied_size(text, base):
    (found,) = apply_diff(text, base.get).changes
    return len(found.after.data)
