"""Patches made to take cubic time end soon, and stay right."""

import random

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
    monkeypatch.setattr(diff, "COMPARISONS", 2_000_000)
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


def long_file():
    """Return the lines of a module of 6,000 lines, many of which repeat."""
    parts = (
        f"def f{n}(x):\n    if x:\n        return {n}\n\n    return x\n\n" for n in range(1000)
    )
    return "".join(parts).splitlines(keepends=True)


def test_changes_far_apart_in_a_long_file_stay_small():
    lines = long_file()
    edited = [*lines[:3], "new = 1\n", *lines[4:3000], "    pass\n", *lines[3000:-2], "end\n"]
    made = change("f.py", "".join(lines), "".join(edited))
    text = write_diff(Patch((made,)))
    assert text.count("\n") < 40
    assert applied(text, (made,)) == {"f.py": made.after.data}


@pytest.mark.parametrize("seed", range(6))
def test_a_long_file_with_many_changes_is_made_of_its_diff(seed):
    draw = random.Random(seed)
    lines = long_file()
    for _ in range(draw.choice([2, 40, 400])):
        at, until = draw.randrange(len(lines)), draw.randrange(40)
        lines[at : at + until] = draw.choices(lines, k=draw.randrange(40))
    if seed == 5:
        draw.shuffle(lines)
    made = change("f.py", "".join(long_file()), "".join(lines))
    assert applied(write_diff(Patch((made,))), (made,)) == {"f.py": made.after.data}
