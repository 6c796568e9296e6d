"""Patches: what they make of a text, judged by difflib, and how they say that they do not apply."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import TaskError
from agentgym.task.patch import Line, apply_patch, read_lines

LOOP = "for day in mon tue; do\n  echo $day\ndone\n\nfor day in sat sun; do\n  sleep\ndone\n"
TEXTS = st.lists(st.sampled_from(["", " ", "a", "b", "-a", "+b", "@@", "# c", "x\r", "\\"]))


def lines(text: str, file: str) -> list[Line]:
    return [Line(line, file, at) for at, line in enumerate(text.split("\n"), start=1)]


def patched(patch: str, original: str = LOOP) -> str:
    result = apply_patch(lines(patch, "m.patch"), lines(original, "solve.sh"))
    return "\n".join(line.text for line in result)


def test_lines_go_come_and_stay_below_the_comments() -> None:
    patch = """\
# Must not pass: works at the weekend
# and says nothing.
@@
-  echo $day
@@ the second loop
 done

-for day in sat sun; do
+for day in fri sat sun; do
   sleep
+  nap
"""
    assert patched(patch) == (
        "# Must not pass: works at the weekend\n# and says nothing.\n"
        "for day in mon tue; do\ndone\n\nfor day in fri sat sun; do\n  sleep\n  nap\ndone\n"
    )


def test_a_hunk_is_looked_for_below_the_one_before() -> None:
    assert patched("@@\n-  echo $day\n@@\n-done\n+end\n", "  echo $day\ndone\n") == "end\n"
    with pytest.raises(TaskError, match=r"m.patch:4: .* from line 7 on, got '  echo \$day'"):
        patched("@@\n-  sleep\n@@\n-  echo $day\n")


@given(TEXTS, TEXTS)
def test_a_diff_of_two_texts_makes_the_one_of_the_other(old: list[str], new: list[str]) -> None:
    old, new = ["(", *old, ")", ""], ["{", *new, ")", ""]
    diff = list(difflib.unified_diff(old, new, n=len(old), lineterm=""))
    assert patched("\n".join(diff[2:]) + "\n", "\n".join(old)) == "\n".join(new)


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("", "m.patch: expected at least one hunk, which begins with @@, got none"),
        (
            "# Must not pass.\n",
            "m.patch: expected at least one hunk, which begins with @@, got none",
        ),
        ("--- a\n+++ b\n@@\n", "m.patch:1: expected a comment (#) or a hunk (@@), got '--- a'"),
        (
            "@@\n  sleep\nfor\n",
            "m.patch:3: expected a line that begins with -, + or a space, got 'for'",
        ),
        ("@@\n+x\n", "m.patch:1: expected a removed or kept line, which marks the place"),
        (
            "# c\n@@\n-done\n",
            "m.patch:2: expected one place, got solve.sh:3, solve.sh:7; add kept lines",
        ),
        (
            "@@\n done\n-  sleep\n",
            "m.patch:1: expected lines together in solve.sh, got lines found apart",
        ),
        (
            "@@\n   sleep\n-don\n",
            "m.patch:3: expected a line of solve.sh from line 1 on, got 'don'; "
            "did you mean 'done'?",
        ),
        ("@@\n-xyzzy\n", "m.patch:2: expected a line of solve.sh from line 1 on, got 'xyzzy'"),
    ],
)
def test_what_does_not_apply_is_named_by_line(patch: str, expected: str) -> None:
    with pytest.raises(TaskError) as caught:
        patched(patch)
    assert str(caught.value) == expected


def test_lines_are_those_that_newlines_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_bytes("x\u2028y\r\n\x0c\n".encode())
    read = read_lines(tmp_path / "a", TaskError)
    assert [(line.text, line.where) for line in read] == [
        ("x\u2028y\r", "a:1"),
        ("\x0c", "a:2"),
        ("", "a:3"),
    ]
