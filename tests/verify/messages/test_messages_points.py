"""Points of a list that stand on one line."""

from __future__ import annotations

import pytest

from agentgym.verify.messages.points import split_points


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("tell me: a) who b) when", ["tell me:", "a) who", "b) when"]),
        ("do you mean 1. ada 2. bo?", ["do you mean?", "1. ada", "2. bo?"]),
        ("give me (1) a name, (2) a day.", ["give me:", "(1) a name", "(2) a day."]),
        ("1. yes 3. no", ["1. yes 3. no"]),
        ("on 1. march and 2. april", ["on 1. march and 2. april"]),
        ("room 1. then room 5.", ["room 1. then room 5."]),
    ],
)
def test_points_are_counted_from_the_first(line: str, parts: list[str]) -> None:
    assert split_points(line) == parts
