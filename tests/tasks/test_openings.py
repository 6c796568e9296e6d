"""A rubric that lets the agent repeat the user's first words holds these very words."""

import tomllib
from pathlib import Path

import pytest

TASKS = Path(__file__).parents[2] / "tasks" / "tools"
SPOKEN = sorted(path.parent.name for path in TASKS.glob("*/user.toml"))


def openings(node):
    """Yield the `opening` of each check below a node of a rubric."""
    if isinstance(node, dict):
        if "opening" in node:
            yield node["opening"]
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from openings(each)


@pytest.mark.parametrize("task", SPOKEN)
def test_a_rubric_quotes_the_users_opening(task):
    rubric = tomllib.loads((TASKS / task / "checks/rubric.toml").read_text())
    said = tomllib.loads((TASKS / task / "user.toml").read_text()).get("opening")
    # Other users have said what the instruction tells in their words.
    assert said is None or all(quoted == [said] for quoted in openings(rubric))


def test_some_rubrics_quote_it():
    rubrics = [(TASKS / task / "checks/rubric.toml").read_text() for task in SPOKEN]
    assert sum(any(openings(tomllib.loads(text))) for text in rubrics) >= 4
