"""Who changed which row, over services that are really called."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.errors import VerifierError
from agentgym.records import CheckResult, CheckStatus
from agentgym.services import find_services
from agentgym.testing.checks import evidence, play_services
from agentgym.verify.rows import changes_by
from agentgym.verify.rubric.packs import find_check

CLOSE = ("tickets_close", {"ticket": 9001, "resolution": "Done."})
COMMENT = ("tickets_comment", {"ticket": 9001, "body": "On it.", "internal": True})
TICKET = {
    "id": 9001,
    "customer_id": 1,
    "subject": "A",
    "body": "B",
    "product": "Ledgerly",
    "status": "open",
    "priority": "low",
    "created_at": "2026-02-27T09:00:00Z",
    "updated_at": "2026-02-27T09:00:00Z",
    "due_at": "2026-03-04T09:00:00Z",
}


def seen(*calls):
    played = play_services(find_services("office"), calls, {"tickets_ticket": [TICKET]})
    return evidence({}, services=played)


def judged(name, shown, **arguments) -> CheckResult:
    return find_check(f"services.{name}", Path())(shown, **arguments)


def test_a_row_is_the_doing_of_everybody_who_changed_it():
    shown = seen(("agent", *COMMENT), ("user", *CLOSE))
    tables = {by: [c.table for c in changes_by(shown, by)] for by in ("agent", "user", "world")}
    assert tables == {
        "agent": ["tickets_comment", "tickets_ticket"],
        "user": ["tickets_ticket"],
        "world": [],
    }
    assert len(changes_by(shown, "anyone")) == 2


def test_who_changes_what_others_have_added_has_not_added_it():
    note = ("tickets_comment", {"ticket": 9001, "body": "Paid.", "internal": True})
    opened = {"customer": 1, "subject": "A", "body": "B", "product": "Ledgerly"}
    number = TICKET["id"] + 1
    shown = seen(
        ("world", "tickets_create", opened),
        ("agent", "tickets_update", {"ticket": number, "priority": "high"}),
        ("agent", *note),
    )
    new = {"table": "tickets_ticket", "where": {"id": number}, "new": True}
    found = {by: judged("row", shown, **new, by=by).status for by in ("agent", "world", "anyone")}
    assert found == {
        "agent": CheckStatus.FAIL,
        "world": CheckStatus.PASS,
        "anyone": CheckStatus.PASS,
    }
    assert [c.kind for c in changes_by(shown, "agent") if c.key == (number,)] == ["added"]


def test_what_the_setup_did_is_nobodys():
    assert changes_by(seen(), "anyone") == []


def test_one_more_than_an_entry_has_room_for_is_named():
    twice = seen(("agent", *COMMENT), ("agent", *COMMENT))
    where = {"ticket_id": 9001, "body": "On it."}
    rule = {"table": "tickets_comment", "kind": "added", "where": where}
    ticket = {"table": "tickets_ticket", "where": {"id": 9001}}
    result = judged("only_changed", twice, allowed=[rule, ticket])
    assert result.status is CheckStatus.FAIL
    assert result.message.startswith("1 rows that nothing asked for: tickets_comment ")
    more = {**rule, "at_most": 2}
    assert judged("only_changed", twice, allowed=[more, ticket]).status is CheckStatus.PASS
    assert judged("only_changed", twice, allowed=[rule, rule, ticket]).status is CheckStatus.PASS


VISIT = {
    "title": "Visit of Quist",
    "start": "2026-03-10T10:00:00Z",
    "end": "2026-03-10T11:00:00Z",
    "people": [24],
}
ATTENDEES = {"table": "calendar_attendee", "kind": "added", "at_most": 2}
TITLED = {"table": "calendar_event", "kind": "added", "where": {"title": VISIT["title"]}}


@pytest.mark.parametrize(
    ("entry", "description", "passes"),
    [
        (TITLED, "", True),
        (TITLED, "\u200b", False),
        (TITLED, "As agreed", False),
        ({**TITLED, "texts": {"description": "As agreed"}}, "as  agreed", True),
        ({**TITLED, "texts": {"description": "As agreed"}}, "As agreed. They pay.", False),
        ({**TITLED, "texts": {"description": {"whole": "as (agreed)"}}}, "As agreed", True),
        ({**TITLED, "texts": {"description": {"whole": "as (agreed)"}}}, "As agreed\nSo", False),
        ({**TITLED, "any_text": ["description"]}, "They pay.", True),
        ({**TITLED, "any_text": ["note"]}, "They pay.", False),
        ({"table": "calendar_event", "where": {"title": {"matches": "Quist"}}}, "", False),
        ({"table": "calendar_*", "kind": "added", "at_most": 3}, "", False),
        ({**TITLED, "having": [
            {"table": "contacts_group", "on": {"note": "description"}},
        ]}, "As agreed", True),
        ({**TITLED, "having": [
            {"table": "contacts_group", "on": {"note": "description"}, "at_most": 1},
        ]}, "As agreed", False),
    ],
)  # fmt: skip
def test_free_text_needs_a_licence(entry, description, passes):
    create = ("calendar_create", {**VISIT, "description": description})
    group = ("contacts_create_group", {"name": "Quist", "members": [24], "note": "As agreed"})
    shown = seen(("world", *group), ("agent", *create))
    result = judged("only_changed", shown, allowed=[entry, ATTENDEES])
    assert (result.status is CheckStatus.PASS) is passes, result.message


def test_a_refused_text_is_told_with_its_place():
    shown = seen(("agent", "calendar_create", {**VISIT, "description": "They pay."}))
    result = judged("only_changed", shown, allowed=[TITLED, ATTENDEES])
    number = changes_by(shown, "agent")[-1].row["id"]
    told = f"text that nothing asked for: calendar_event {number}: description is 'They pay.'"
    assert result.message == told


def test_only_the_text_that_a_call_has_changed_needs_a_licence():
    shown = seen(("agent", "tickets_update", {"ticket": 9001, "priority": "high"}))
    rule = {"table": "tickets_ticket", "where": {"id": 9001}}
    assert judged("only_changed", shown, allowed=[rule]).status is CheckStatus.PASS
    shown = seen(("agent", "tickets_update", {"ticket": 9001, "subject": "A!"}))
    assert judged("only_changed", shown, allowed=[rule]).status is CheckStatus.FAIL


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("row", {"table": "tickets_tickets", "where": {}}, "did you mean 'tickets_ticket'"),
        (
            "mentions",
            {"table": "contacts_firm", "column": "name", "facts": ["x"], "new": True},
            "no table named 'contacts_firm'",
        ),
        ("row", {"table": "contacts_adress", "where": {}}, "did you mean 'contacts_address'"),
        ("row", {"table": "tickets_ticket", "where": {"state": "x"}}, "column of tickets_ticket"),
        ("count", {"table": "tickets_ticket", "where": {"i": 1}, "at_least": 1}, "tickets_ticket"),
        ("only_changed", {"allowed": [{"table": "ticket_*"}]}, "no table named 'ticket_*'"),
        (
            "only_changed",
            {"allowed": [{"table": "tickets_ticket", "texts": {"note": "x"}}]},
            "column of tickets_ticket",
        ),
        (
            "only_changed",
            {"allowed": [{"table": "tickets_ticket", "texts": {"body": {"contains": "x"}}}]},
            "leaves the rest of the text open",
        ),
        (
            "only_changed",
            {"allowed": [{"table": "tickets_ticket", "texts": {"body": ["x", {"not": "y"}]}}]},
            "leaves the rest of the text open",
        ),
        (
            "only_changed",
            {"allowed": [{"table": "tickets_ticket", "any_text": "body"}]},
            "expected a list of columns",
        ),
        ("unchanged", {"tables": ["mail_*"], "where": {"statuss": 1}}, "column of mail_*"),
        (
            "row",
            {"table": "tickets_ticket", "where": {"id": 9001}, "columns": {"statuss": "x"}},
            "did you mean 'status'",
        ),
        (
            "mentions",
            {"table": "tickets_ticket", "column": "text", "facts": ["x"]},
            "column of tickets_ticket",
        ),
    ],
)
def test_a_mistyped_table_or_column_is_the_authors(name, arguments, told):
    with pytest.raises(VerifierError) as error:
        judged(name, seen(), **arguments)
    assert told in str(error.value)


def test_no_services_are_the_authors_too():
    with pytest.raises(VerifierError, match="the environment has none"):
        judged("called", evidence({}), tool="x")
