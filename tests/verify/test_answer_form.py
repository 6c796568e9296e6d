"""Answer forms: the schema that agents get, values in every spelling, refusals that say why."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agentgym.errors import ActionError
from agentgym.task.answer import AnswerField, AnswerForm
from agentgym.verify.answer_form import form_schema, form_text, form_values, read_form
from agentgym.verify.answer_values import read_value


def field(**given) -> AnswerField:
    return AnswerField(**{"name": "x", "about": "What it is", **given})


EUR = field(type="amount", unit="EUR")
COUNT = field(type="number", whole=True, unit="tickets")
SHARE = field(type="number", unit="%")
DAY, HOUR = field(type="date"), field(type="time")
MOMENT = field(type="datetime")
INVOICE = field(type="id", pattern=r"INV-\d{5}")
CODE = field(type="id", pattern=r"R\d{5}")
ANY_ID = field(type="id")
TICKET = field(type="id", pattern=r"\d{1,6}")
STATUS = field(type="choice", choices=("called off", "moved"))
WHO = field(type="person")
YES = field(type="yes_no")
TICKETS = field(type="id", pattern=r"\d{1,6}", list=True)
FIRMS = field(type="name", list=True)
PEOPLE = field(type="person", list=True)
MAYBE = field(type="date", optional=True)
ALL = (
    EUR,
    COUNT,
    SHARE,
    DAY,
    HOUR,
    MOMENT,
    INVOICE,
    STATUS,
    WHO,
    YES,
    TICKETS,
    FIRMS,
    PEOPLE,
    MAYBE,
)


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        (EUR, 1250.5, 1250.5),
        (EUR, "1.250,00 €", 1250),
        (EUR, "EUR 1,250.00", 1250),
        (EUR, "1 250,00 EUR", 1250),
        (EUR, "twelve euros", 12),
        (EUR, "-5", -5),
        (COUNT, 7.0, 7),
        (COUNT, "seven tickets", 7),
        (COUNT, "one", 1),
        (COUNT, "one hundred and two tickets", 102),
        (COUNT, "One ticket.", 1),
        (SHARE, "7,5 %", 7.5),
        (DAY, "2026-03-10", "2026-03-10"),
        (DAY, "Tuesday the 10th of March 2026", "2026-03-10"),
        (DAY, "10.03.2026", "2026-03-10"),
        (HOUR, "3 pm", "15:00"),
        (HOUR, "15h", "15:00"),
        (HOUR, "half past two in the afternoon", "14:30"),
        (MOMENT, "10 March 2026 at 3 pm", "2026-03-10T15:00"),
        (MOMENT, "2026-03-10T15:00:00", "2026-03-10T15:00"),
        (INVOICE, "invoice inv 34277.", "INV-34277"),
        (CODE, "r 61630", "R61630"),
        (ANY_ID, "order-7", "order-7"),
        (ANY_ID, "Order no. 7", "7"),
        (ANY_ID, "order NO-12", "NO-12"),
        (TICKET, 13, "13"),
        (TICKET, "Ticket #13", "13"),
        (STATUS, "Called-off.", "called off"),
        (WHO, "Nguyen, Gita", "Gita Nguyen"),
        (WHO, "Ms Gita Nguyen <gita@x.example>", "Gita Nguyen"),
        (YES, "No.", False),
        (TICKETS, "13, #14; no. 15", ["13", "14", "15"]),
        (TICKETS, [], []),
        (FIRMS, 'Cascade  Outdoor, "Copperfield Books"', ["Cascade Outdoor", "Copperfield Books"]),
        (PEOPLE, "Nguyen, Gita\nBo Lind", ["Gita Nguyen", "Bo Lind"]),
        (MAYBE, None, None),
        (MAYBE, "", None),
        (TICKETS, "13, 14 and 15", ["13", "14", "15"]),
        (FIRMS, ["1. Cascade Outdoor", "2) Marks and Sons"], ["Cascade Outdoor", "Marks and Sons"]),
    ],
)
def test_every_usual_spelling_is_kept_in_one_form(kind, given, kept) -> None:
    read = read_value(kind, given)
    assert read == kept and type(read) is type(kept)
    assert read_value(kind, read) == read


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        (EUR, "1.250", "two things"),
        (EUR, "$5", "amount in EUR"),
        (EUR, "not 5", "amount in EUR"),
        (EUR, "5 or 6", "amount in EUR"),
        (EUR, True, "amount in EUR"),
        (EUR, math.inf, "amount in EUR"),
        (EUR, 10**400, "amount in EUR"),
        (EUR, "9" * 9_000, "9000 characters"),
        (COUNT, "7 shares", "of tickets"),
        (COUNT, "one share", "of tickets"),
        (COUNT, "one or two", "of tickets"),
        (COUNT, 7.5, "whole"),
        (DAY, "3/4/2026", "two things"),
        (DAY, "10 March", "YYYY-MM-DD"),
        (DAY, "Monday, 10 March 2026", "is a Tuesday"),
        (DAY, "2026-02-30", "YYYY-MM-DD"),
        (HOUR, "half past two", "two things"),
        (HOUR, "4", "HH:MM"),
        (MOMENT, "2026-03-10T15:00:00Z", "without a time zone"),
        (MOMENT, "10 March 2026, not 15:00", "without a time zone"),
        (INVOICE, "INV-34277 and INV-20020", "an id"),
        (INVOICE, "not INV-34277", "an id"),
        (STATUS, "cancelled", "'called off', 'moved'"),
        (WHO, "Gita", "full name"),
        (WHO, "it was not Gita Nguyen, it was Bo Lind", "full name"),
        (YES, "maybe", "true or false"),
        (YES, 1, "true or false"),
        (TICKETS, ["13", "x"], "an id"),
        (TICKETS, 13, "a list"),
        (FIRMS, "Cascade Outdoor and Copperfield Books", "two things"),
        (FIRMS, ["Cascade Outdoor", " . "], "one name"),
        (TICKETS, ["1"] * 300, "at most 200"),
        (DAY, None, "got null"),
    ],
)
def test_what_has_two_meanings_or_none_is_refused(kind, given, told) -> None:
    with pytest.raises(ValueError, match="expected|is a Tuesday") as refused:
        read_value(kind, given)
    assert told in str(refused.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(ALL), JSON)
def test_any_value_is_read_or_refused_with_words(kind, value) -> None:
    try:
        read = read_value(kind, value)
    except ValueError as refused:
        assert str(refused)
    else:
        assert json.loads(json.dumps(read, allow_nan=False)) == read


FORM = AnswerForm(
    field=(
        EUR.model_copy(update={"name": "total"}),
        TICKETS.model_copy(update={"name": "tickets"}),
        MAYBE.model_copy(update={"name": "until"}),
    )
)


def test_the_schema_is_a_strict_one() -> None:
    schema = form_schema(FORM)
    Draft202012Validator.check_schema(schema)
    assert schema["required"] == ["total", "tickets", "until"]
    assert schema["additionalProperties"] is False
    until = schema["properties"]["until"]
    assert until["type"] == ["string", "null"] and "YYYY-MM-DD" in until["description"]
    legal = {"total": 12.5, "tickets": ["13"], "until": None}
    assert Draft202012Validator(schema).is_valid(legal)
    assert read_form(FORM, legal) == legal


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "total: missing"),
        ({"answer": ""}, "got a text"),
        ({"answer": "All done."}, "got a text"),
        ({"answer": '{"total": 5}'}, "tickets: missing"),
        ({"total": 5, "tickets": [], "note": "and more"}, "no field 'note'"),
        ({"total": 5, "ticket": []}, "did you mean 'tickets'"),
        ({"total": "5 or 6", "tickets": "x y"}, "tickets: expected a list"),
        ({"answer": "[" * 5000}, "got a text"),
    ],
)
def test_a_form_that_is_not_filled_in_is_refused(given, told) -> None:
    with pytest.raises(ActionError, match="the answer is not accepted") as refused:
        read_form(FORM, given)
    assert told.partition(":")[0] in str(refused.value)


def test_a_text_can_hold_the_form() -> None:
    text = '{"tickets": "13, 14", "total": "12 EUR"}'
    assert read_form(FORM, {"answer": text}) == {
        "total": 12,
        "tickets": ["13", "14"],
        "until": None,
    }
    alone = AnswerForm(field=(COUNT,))
    assert read_form(alone, {"answer": "seven"}) == {"x": 7}


def test_the_text_of_a_form_is_read_back() -> None:
    values = {"total": 12.5, "who": "Amélie Becker", "told": False, "until": None}
    assert form_values(form_text(values)) == values
    for text in (None, "", "12.5", "[1]", '{"total": NaN}', "[" * 100_000):
        assert form_values(text) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "amount"},
        {"type": "choice", "choices": ("a",)},
        {"type": "date", "unit": "EUR"},
        {"type": "id", "pattern": "(a+)+b"},
        {"type": "id", "pattern": "("},
        {"type": "date", "name": "answer"},
        {"type": "date", "name": "Till When"},
        {"type": "date", "about": "The day of {{case.name}}"},
        {"type": "text"},
    ],
)
def test_a_field_that_makes_no_sense_is_refused(wrong) -> None:
    with pytest.raises(ValueError):
        field(**wrong)


def test_a_form_needs_fields_with_different_names() -> None:
    for fields in ((), (DAY, HOUR)):
        with pytest.raises(ValueError):
            AnswerForm(field=fields)


ODD_TEXTS = (
    "€\n5",
    "5\n€",
    "$\r5",
    "€\u2028 5",
    "9" * 200,
    "1," * 100,
    "١٢",
    "12:" * 66,
    "the on at " * 20,
)


@pytest.mark.parametrize("field", ALL)
def test_odd_texts_are_values_or_refused(field):
    for text in ODD_TEXTS:
        try:
            read_value(field, text)
        except ValueError as error:
            assert len(str(error)) < 1_000


def test_thousands_of_unknown_fields_are_refused_without_looking_at_each():
    unknown = {f"{number:05}_invoice": 1 for number in range(45_000)}
    form = AnswerForm(field=tuple(field(name=f"invoice_{x}", type="date") for x in "abcdef"))
    began_s = time.monotonic()
    with pytest.raises(ActionError, match="no field '00000_invoice'; did you mean"):
        read_form(form, unknown)
    assert time.monotonic() - began_s < 10
