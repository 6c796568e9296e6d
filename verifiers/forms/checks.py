"""Check pack `forms`: what was entered into the office's forms, and to whom it went.

Channels: state (forms, values, messages), audit (the forms that the agent filled in).

A form carries the meaning of a message in typed fields, so these checks compare values and read no
text. They say nothing about other messages: a rubric allows messages made of a form alone by
`services.only_changed`, with `having = [{ table = "forms_filled", on = { message_id = "id" } }]`
(`comment_id` for tickets, `post_id` for the chat).

Amounts and numbers are equal by value, dates are `2026-03-02`, times `14:00`, people their main
address, choices and other texts are equal if they differ in case, width and spacing only. A value
may also be a table of comparisons, as in pack `services`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify.matching import Matcher, fits, matcher, normal, show_matchers
from agentgym.verify.rows import Row, check_actor, name_row, selector
from agentgym.verify.values import brief, result

_PLACES = {
    "message_id": ("mail_message", "body"),
    "comment_id": ("tickets_comment", "body"),
    "post_id": ("chat_message", "text"),
}


def filled(
    evidence: Evidence,
    form: str,
    fields: Mapping[str, Any] | None = None,
    lines: Sequence[Mapping[str, Any]] = (),
    to: str | Sequence[str] | None = None,
    cc: str | Sequence[str] = (),
    answers: int | None = None,
    ticket: int | None = None,
    channel: int | str | None = None,
    last: bool = False,
) -> CheckResult:
    """The agent sent this form with exactly these values, and no other form to the same readers.

    Channel: state, audit. A field that is not named must be empty. `lines` are compared in any
    order; a missing, an additional and a repeated line fail. The readers are `to` (with exactly
    these recipients, `cc` and no blind copy), `ticket` or `channel`; without them, all forms of
    this id are looked at. At least one form must have gone there, and every one must be as
    described; with `last = true` only the last one.

    Example:
        use = "forms.filled"
        [checkpoint.with]
        form = "ticket-handover"
        to = "ada@x.example"
        fields = { leaver = "hiro@x.example" }
        lines = [
            { ticket = 17, taker = "bea@x.example" },
            { ticket = 19, taker = "carl@x.example" },
        ]

    Args:
        evidence: Evidence of the episode.
        form: Id of the form.
        fields: Expected value by field.
        lines: Expected lines, each with its value by column.
        to: Address or addresses under To of a mail.
        cc: Address or addresses under Cc.
        answers: Number of the mail that it answers; absent: any or none.
        ticket: Number of the ticket that it stands on.
        channel: Number or name of the chat's channel.
        last: Only the last form that went there counts.
    """
    if isinstance(lines, (str, Mapping)):
        raise VerifierError(f"lines: expected a list of tables, got {lines!r}")
    columns = [_values("lines", line) for line in lines]
    wanted = _Wanted(form, _values("fields", fields or {}), columns)
    for name, value in (("to", to or ()), ("cc", cc)):
        _addresses(name, value)
    if sum(place is not None for place in (to, ticket, channel)) > 1:
        raise VerifierError("expected one of to, ticket and channel")
    found = [one for one in _filled(evidence) if _is_there(one, form, to, ticket, channel)]
    if not found:
        others = ", ".join(sorted({str(one.row["form_id"]) for one in _filled(evidence)}))
        return result(False, f"no form {form!r} went there; forms sent: {others or 'none'}")
    for one in found[-1:] if last else found:
        fault = wanted.fault(one) or _mail_fault(one, to, cc, answers) or one.altered()
        if fault:
            return result(False, f"{name_row('forms_filled', one.row)}: {fault}")
    return result(True, f"{len(found)} of form {form!r}, as expected")


@dataclass(frozen=True, slots=True)
class _Filled:
    """A form that the agent filled in, with its message."""

    row: Row
    values: Mapping[str, Any]
    lines: Sequence[Mapping[str, Any]]
    message: Row | None
    column: str
    recipients: Sequence[Row]
    channel: str

    def altered(self) -> str:
        """Return whether the message is no longer what the form made."""
        if self.message is None or self.message.get("deleted"):
            return "its message is gone"
        return "" if self.message[self.column] == self.row["text"] else "its text was changed"

    def addresses(self, kind: str) -> set[str]:
        return {str(r["email"]).lower() for r in self.recipients if r["kind"] == kind}


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The values that have to be entered."""

    form: str
    fields: Mapping[str, Matcher]
    lines: Sequence[Mapping[str, Matcher]]

    def fault(self, one: _Filled) -> str:
        """Return what is wrong with a form; empty if it is as wanted."""
        if one.row["form_id"] != self.form:
            return f"is {one.row['form_id']!r}, expected {self.form!r}"
        if fault := _values_fault(one.values, self.fields):
            return fault
        left = list(self.lines)
        for number, line in enumerate(one.lines, 1):
            fitting = next((w for w in left if not _values_fault(line, w)), None)
            if fitting is None:
                return f"line {number}: {brief(dict(line))} is not expected"
            left.remove(fitting)
        return f"lacks a line: {show_matchers(left[0])}" if left else ""


def _values_fault(values: Mapping[str, Any], wanted: Mapping[str, Matcher]) -> str:
    if extra := sorted(values.keys() - wanted.keys()):
        return f"{extra[0]} is {brief(values[extra[0]])}, expected nothing there"
    wrong = [name for name, one in wanted.items() if not fits(values, {name: one})]
    if not wrong:
        return ""
    return f"{wrong[0]} is {brief(values.get(wrong[0]))}, expected {wanted[wrong[0]]}"


def _values(what: str, wanted: object) -> dict[str, Matcher]:
    """Read expected values; a text is compared without case, width and spacing."""
    if not isinstance(wanted, Mapping):
        raise VerifierError(f"{what}: expected a table of values, got {wanted!r}")
    return {
        name: matcher(f"{what}.{name}", {"normal": value} if isinstance(value, str) else value)
        for name, value in wanted.items()
    }


def _filled(evidence: Evidence) -> list[_Filled]:
    """Return the forms that the agent filled in, in their order."""
    check_actor("agent")
    rows = selector("forms_filled").added(evidence, "agent")
    return [_whole(evidence, row) for row in sorted(rows, key=lambda row: row["id"])]


def _whole(evidence: Evidence, row: Row) -> _Filled:
    tables = evidence.tables_after
    by_line: dict[int, dict[str, Any]] = {0: {}}
    for value in tables.rows("forms_value", filled_id=row["id"]):
        by_line.setdefault(value["line"], {})[value["field"]] = value["value"]
    own = next((name for name in _PLACES if row[name] is not None), "message_id")
    table, column = _PLACES[own]
    message = next(iter(tables.rows(table, id=row[own])), None)
    recipients, channel = (), ""
    if table == "mail_message":
        recipients = tuple(tables.rows("mail_recipient", message_id=row[own]))
    elif table == "chat_message" and message is not None:
        there = tables.rows("chat_channel", id=message["channel_id"])
        channel = str(there[0]["name"]) if there else ""
    values = by_line.pop(0)
    lines = [by_line[number] for number in sorted(by_line)]
    return _Filled(row, values, lines, message, column, recipients, channel)


def _is_there(
    one: _Filled,
    form: str,
    to: str | Sequence[str] | None,
    ticket: int | None,
    channel: int | str | None,
) -> bool:
    """Return whether a form went to the readers that are meant."""
    message = one.message or {}
    if to is not None:
        everybody = {str(r["email"]).lower() for r in one.recipients}
        return bool(everybody & _addresses("to", to))
    if ticket is not None:
        return one.column == "body" and message.get("ticket_id") == ticket
    if isinstance(channel, str):
        return normal(one.channel) == normal(channel)
    if channel is not None:
        return message.get("channel_id") == channel
    return bool(one.row["form_id"] == form)


def _mail_fault(
    one: _Filled, to: str | Sequence[str] | None, cc: str | Sequence[str], answers: int | None
) -> str:
    if to is None:
        return ""
    for kind, wanted in (("to", to), ("cc", cc), ("bcc", ())):
        expected, seen = _addresses(kind, wanted), one.addresses(kind)
        if seen != expected:
            return f"{kind} is {sorted(seen)}, expected {sorted(expected)}"
    if answers is not None and (one.message or {}).get("answers_id") != answers:
        return f"answers {(one.message or {}).get('answers_id')}, expected {answers}"
    return ""


def _addresses(name: str, value: str | Sequence[str]) -> set[str]:
    several = [value] if isinstance(value, str) else list(value)
    if not all(isinstance(one, str) and "@" in one for one in several):
        raise VerifierError(f"{name}: expected addresses, got {value!r}")
    return {one.lower() for one in several}
