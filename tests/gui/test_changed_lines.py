"""The lines of a tree that changed since the last look."""

import time

from hypothesis import given
from hypothesis import strategies as st

from agentgym.gui.tree import changed_lines

LINES = st.lists(st.sampled_from(["a", "b", "c", "- d", "+ e"]), max_size=30)


def test_lines_that_left_and_came_are_marked_in_their_order():
    assert changed_lines(["a", "b", "c"], ["a", "x", "c", "y"]) == ["-b", "+x", "+y"]
    assert changed_lines(["a"], ["a"]) == changed_lines([], []) == ["  (nothing)"]


@given(LINES, LINES)
def test_what_left_and_came_makes_one_tree_of_the_other(before, after):
    changed = [line for line in changed_lines(before, after) if line != "  (nothing)"]
    left = [line[1:] for line in changed if line[0] == "-"]
    came = [line[1:] for line in changed if line[0] == "+"]
    assert len(before) - len(left) == len(after) - len(came)
    assert sorted([*before, *came]) == sorted([*after, *left])


def test_lines_of_a_page_that_repeat_take_no_seconds():
    # No two lines in a row are equal on both sides, so each pair is looked for anew.
    before, after = (
        [f"{side}{number}" if number % 2 else f"row {number % 220}" for number in range(4_000)]
        for side in ("a", "b")
    )
    began = time.process_time()
    changed = changed_lines(before, after)
    assert time.process_time() - began < 1.0
    assert len(changed) == 8_000
