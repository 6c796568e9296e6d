"""Figures are found in every usual spelling, and mean the same however they are written."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.verify.messages.figures import find_figures, same
from agentgym.verify.messages.plain import plain
from agentgym.verify.messages.wanted import wanted

DAYS = st.dates(date(2024, 1, 1), date(2027, 12, 31))
MINUTES = st.integers(0, 1439)
CENTS = st.integers(1, 999_999_99)


def _says(text: str, value: object) -> bool:
    spellings = wanted("value", value).spellings
    readings = {
        r for parts in spellings for part in parts if not isinstance(part, str) for r in part
    }
    return any(figure.means(readings) for figure in find_figures(plain(text)))


@given(DAYS, st.integers(0, 9))
def test_a_day_is_the_same_day_in_every_spelling(day: date, how: int) -> None:
    name = f"{day:%B}"
    spelled = [
        day.isoformat(),
        f"{day.day} {name} {day.year}",
        f"{name} {day.day}, {day.year}",
        f"{day.day}. {name[:3]} {day.year}",
        f"the {day.day}th of {name}",
        f"{day:%d.%m.%Y}",
        f"{day:%d/%m/%Y}",
        f"{day:%A}, {day.day} {name}",
        f"{day:%a} {day.day} {name[:3]}",
        f"{day.isoformat()}T15:00:00Z",
    ][how]
    assert _says(f"It was due on {spelled}.", {"date": day.isoformat()})
    other = day.replace(day=day.day % 27 + 1)
    if other.day not in (day.day, day.month):
        assert not _says(f"It was due on {spelled}.", {"date": other.isoformat()})


@given(MINUTES, st.integers(0, 5))
def test_a_time_is_the_same_time_in_every_spelling(minutes: int, how: int) -> None:
    hour, minute = divmod(minutes, 60)
    twelve, half = hour % 12 or 12, "am" if hour < 12 else "pm"
    late = {"am": "in the morning", "pm": "in the afternoon"}[half]
    spelled = [
        f"{hour:02}:{minute:02}",
        f"{twelve}:{minute:02} {half}",
        f"{twelve}:{minute:02} {half[0]}.m.",
        f"{hour}h{minute:02}",
        f"{twelve}:{minute:02} {late}",
        f"{hour:02}{minute:02} hrs",
    ][how]
    assert _says(f"we meet at {spelled} then", {"time": f"{hour:02}:{minute:02}"})
    other = (minutes + 61) % 1440
    assert not _says(f"we meet at {spelled} then", {"time": f"{other // 60:02}:{other % 60:02}"})


@given(CENTS, st.integers(0, 6))
def test_an_amount_is_the_same_amount_in_every_spelling(cents: int, how: int) -> None:
    amount = Decimal(cents) / 100
    english = f"{amount:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    spelled = [
        f"€{english}",
        f"EUR {english}",
        f"{english} euros",
        f"{german} €",
        f"EUR {amount:.2f}",
        f"{german} EUR",
        f"€ {english.replace(',', ' ')}",
    ][how]
    assert _says(f"The sum is {spelled}.", {"amount": str(amount)})
    assert not _says(f"The sum is {spelled}.", {"amount": str(amount + 1)})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3 o'clock in the afternoon", {"time": "15:00"}),
        ("half past two", {"time": "14:30"}),
        ("a quarter to nine in the morning", {"time": "08:45"}),
        ("at noon", {"time": "12:00"}),
        ("15h", {"time": "15:00"}),
        ("ten for you", {"time": "10:00"}),
        ("the twenty-first of May", {"date": "2026-05-21"}),
        ("10 and 24 March", {"date": "2026-03-10"}),
        ("the 17th", {"date": "2026-03-17"}),
        ("twelve euros", {"amount": 12}),
        ("EUR 12k", {"amount": 12000}),
        ("forty-two", 42),
        ("#13", 13),
        ("no. 13", 13),
        ("ticket 13", 13),
        ("INV 72992", "INV-72992"),
        ("at 2026-05-21T15:00:00Z", {"time": "15:00"}),
        ("at 2026-05-21T15:00Z", {"date": "2026-05-21"}),
        ("40 percent", {"percent": 40}),
        ("0049 30 5550 1234", {"phone": "+49 30 5550 1234"}),
    ],
)
def test_usual_spellings(text: str, value: object) -> None:
    spelled = wanted("value", value)
    from agentgym.verify.messages.units import read_message

    assert spelled.spans(read_message(text).tokens())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("at four", {"time": "15:00"}),
        ("Monday 10 March", {"date": "2026-03-10"}),
        ("USD 12", {"amount": 12}),
        ("13.5", 13),
        ("130", 13),
        ("INV-729921", "INV-72992"),
        ("40 euros", {"percent": 40}),
        ("that one", 1),
        ("10:30", {"time": "10:00"}),
        ("March 10, 2025", {"date": "2026-03-10"}),
    ],
)
def test_near_misses(text: str, value: object) -> None:
    from agentgym.verify.messages.units import read_message

    assert not wanted("value", value).spans(read_message(text).tokens())


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    figures = find_figures(plain(text))
    assert all(same(reading, reading) for figure in figures for reading in figure.readings)
    assert all(a.end <= b.start for a, b in zip(figures, figures[1:], strict=False))


@given(st.text(alphabet="0123456789.,:-/ €%#hampm", max_size=200))
def test_heaps_of_figures_are_read(text: str) -> None:
    find_figures(plain(text))


@pytest.mark.parametrize("text", ["14:00 to 15:30", "14:00-15:30", "from 14:00 until 15:30."])
def test_a_span_of_hours_is_two_times(text: str) -> None:
    found = find_figures(plain(text))
    assert [figure.readings for figure in found] == [
        frozenset({("time", 840)}),
        frozenset({("time", 930)}),
    ]


def test_no_denies_an_amount_and_introduces_a_number() -> None:
    def figures(text: str) -> list[str]:
        return [figure.text for figure in find_figures(plain(text))]

    assert figures("ticket no 13 is closed") == ["no 13"]
    assert figures("No. 13 tickets") == ["no. 13"]
    assert figures("no 13 tickets") == figures("13 tickets") == ["13"]
    assert figures("Stuck: no 58.2 GB") == ["58.2"]
    assert figures("Stuck: no 58 GB") == ["58"]
    assert figures("no 58 EUR") == ["58 eur"]
    assert figures("your invoice no. R64820") == ["no. r64820"]
    assert figures("your invoice no R64820") == ["no r64820"]
    assert figures("we have no R64820") == ["r64820"]


def test_a_unit_may_stand_at_its_number() -> None:
    assert _says("58.2GB", 58.2)
    assert not _says("58.2GB", 2)
    assert not _says("58.2GBx", 58.2)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-5", -5), ("minus five", -5), ("(-5)", -5), ("3 - 5", 5), ("it is +5", 5),
        ("− 5 EUR", 5), ("EUR -5", -5), ("-€5", -5), ("5 euros and 50 cents", Decimal("5.5")),
    ],
)  # fmt: skip
def test_a_number_keeps_its_sign(text, value):
    figure = find_figures(plain(text))[-1]
    found = {v[0] if kind == "amount" else v for kind, v in figure.readings}
    assert found == {Decimal(value)}
