"""Which texts say a fact, and which say too much."""

from __future__ import annotations

import pytest

from agentgym.verify.facts import Said, mentions

DATE, TIME = {"date": "2026-03-04"}, {"time": "14:00"}

SAYING = [
    (DATE, "on 2026-03-04"),
    (DATE, "on 2026-03-04T14:00:00Z"),
    (DATE, "4 March"),
    (DATE, "the 4th of March, 2026"),
    (DATE, "Wed, MARCH 4th"),
    (DATE, "Mar. 4, 2026"),
    (DATE, "04.03.2026"),
    (TIME, "at 14:00"),
    (TIME, "2026-03-04T14:00:00Z"),
    (TIME, "2 pm"),
    (TIME, "2:00 p.m."),
    (TIME, "13:00–14:00"),
    (1240.5, "EUR 1,240.50."),
    (1240.5, "1240.5"),
    (1240.5, "1 240.50 €"),
    (3, "all three of them"),
    (12, "12% of it"),
    ("Ada Quist", "ADA\u00a0 Quist's ticket"),
    ("#17", "ticket #17."),
    ("INV-118", "(inv-118)"),
    ({"any": ["Fir", "room 3"]}, "in Room 3"),
]
SILENT = [
    (DATE, "5 March"),
    (DATE, "4 March 2025"),
    (DATE, "14 March"),
    (DATE, "03/04/2026"),
    (DATE, "2026-03-041"),
    (TIME, "2:00"),
    (TIME, "14:01"),
    (TIME, "114:00"),
    (1240.5, "11,240.50"),
    (1240.5, "1,240.505"),
    (3, "3:00"),
    (3, "3 March"),
    (17, "v17"),
    ("17", "1.17"),
    ("17", "170"),
    ("Ada", "Adamant"),
    ("Fir", "Firth"),
    ({"any": ["Fir", 3]}, "elm"),
]


@pytest.mark.parametrize(("fact", "text"), SAYING)
def test_it_says_so(fact: object, text: str) -> None:
    assert mentions([fact], most_chars=100).fault(text) == ""


@pytest.mark.parametrize(("fact", "text"), SILENT)
def test_it_does_not_say_so(fact: object, text: str) -> None:
    assert mentions([fact], most_chars=100).fault(text).startswith("does not mention")


def test_who_lists_everything_says_too_much() -> None:
    wanted = mentions([DATE, 20], ["Birch"], may=[5], only=["dates", "numbers"], most_chars=60)
    assert wanted.fault("4 March: 20 people, 5 guests") == ""
    assert "mentions ????-03-05" in wanted.fault("4 March or 5 March: 20")
    assert "mentions 21, expected no numbers" in wanted.fault("4 March: 20 or 21")
    assert "mentions 'Birch', which it must not" in wanted.fault("4 March: 20, birch")
    assert "has 80 characters, expected at most 60" in wanted.fault("4 March 20 x" * 6 + " " * 8)


def test_numbers_in_a_text_that_is_asked_for_are_no_others() -> None:
    wanted = mentions(["INV-118", 20], only=["numbers"], most_chars=100)
    assert wanted.fault("INV-118: 20 EUR") == ""
    assert "mentions 30" in wanted.fault("INV-118: 20 EUR, then 30")


def test_only_the_beginning_of_a_huge_text_is_read() -> None:
    assert Said("x " * 50_000 + "4 March").dates == []
