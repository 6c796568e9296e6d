"""What a rubric may say of a value, and what it then means."""

from __future__ import annotations

import pytest

from agentgym.errors import VerifierError
from agentgym.verify.matching import matcher, normal

CASES = [
    (17, 17, True),
    (17, 17.0, True),
    (17, "17", False),
    (17, 18, False),
    (True, 1, True),
    (True, True, True),
    (True, 2, False),
    (False, 0, True),
    (False, None, False),
    (1, True, False),
    (["a"], ["a"], True),
    (["a"], ["a", "b"], False),
    ({"is": {"a": 1}}, {"a": 1}, True),
    ({"null": True}, None, True),
    ({"null": True}, "", False),
    ({"null": False}, 0, True),
    ({"not": "closed"}, "open", True),
    ({"not": "closed"}, "closed", False),
    ({"not": {"one_of": [1, 2]}}, 3, True),
    ({"one_of": ["a", {"contains": "b"}]}, "abc", True),
    ({"one_of": ["a", "b"]}, "c", False),
    ({"contains": "Müller  GmbH"}, "an MÜLLER gmbh, Bonn", True),
    ({"contains": "17"}, 17, False),
    ({"normal": "ada quist"}, " Ada\u00a0Quist ", True),
    ({"normal": "ada quist"}, "Ada Quist Jr", False),
    ({"matches": r"^\d+$"}, "a\n12", True),
    ({"matches": r"^\d+$"}, "a12", False),
    ({"matches": "x"}, "x" * 70_000, False),
    ({"at_least": 2, "at_most": 4}, 4.0, True),
    ({"at_least": 2, "at_most": 4}, 5, False),
    ({"at_least": 2}, "3", False),
    ({"at_most": 4}, None, False),
    ({"at_most": 1}, True, False),
    ({"at_least": "2026-03-01"}, "2026-03-02T09:00:00Z", True),
]


@pytest.mark.parametrize(("wanted", "seen", "so"), CASES)
def test_a_value_is_or_is_not_what_is_asked(wanted: object, seen: object, so: bool) -> None:
    assert matcher("c", wanted).test(seen) is so


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({}, "c: expected a value or a table"),
        ({"contain": "x"}, "did you mean 'contains'"),
        ({"contains": 3}, "c.contains: expected text"),
        ({"null": "yes"}, "c.null: expected true or false"),
        ({"one_of": "ab"}, "c.one_of: expected a list"),
        ({"at_least": [1]}, "c.at_least: expected a number or text"),
        ({"not": {"matches": "("}}, "c.not.matches"),
    ],
)
def test_what_is_no_comparison_is_refused(wanted: object, told: str) -> None:
    with pytest.raises(VerifierError, match=told.replace("(", r"\(")):
        matcher("c", wanted)


def test_only_what_an_index_may_find_is_plain() -> None:
    found = [matcher("c", wanted).plain for wanted in (17, "a", True, 1.5, None, {"is": 17})]
    assert found == [17, "a", None, None, None, None]


def test_what_does_not_count() -> None:
    assert normal("  Straße\n\tNr.\u00a0５ ") == "strasse nr. 5"
