"""Sources: the places of an agent's messages: rows of services, calls, its answer.

A mail counts in every form: sent, as an answer, forwarded, or as a draft that already existed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentgym.errors import NotFoundError, VerifierError
from agentgym.protocols import Evidence
from agentgym.records import Step
from agentgym.verify.calls import step_succeeded
from agentgym.verify.giving_up import given_up
from agentgym.verify.messages.plain import plain
from agentgym.verify.rows import Row, changes_by, check_columns, name_row, selector

MESSAGE_USER: Final = "message_user"
ANSWER: Final = "the answer"
_SENT: Final = 2
_REPLY: Final = re.compile(r"^(?:(?:re|aw|fwd?|wg|sv)\s*:\s*)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Written:
    """A message that the agent wrote.

    Attributes:
        name: Its name in a result.
        text: Its body.
        subject: Subject of a mail, empty if the mail it answers or forwards has the same; of a
            reason, what the agent could not do it with.
        heard: What the reader had said before, in a conversation.
        step: Index of the step that said it, in a conversation; otherwise None.
    """

    name: str
    text: str
    subject: str = ""
    heard: tuple[str, ...] = ()
    step: int | None = None


def written(evidence: Evidence, source: object) -> list[Written]:
    """Return the messages of a source.

    Args:
        evidence: The evidence of the episode.
        source: ``"answer"``, ``"reason"`` (of give_up), ``"final"`` (either of them), ``"user"``
            (what was said with message_user), ``"mail"``, ``"comment"``, ``"chat"``,
            ``"calendar"``: all that the agent wrote there; or a table:
            ``{ mail = "ada@x.example" }`` (that address is among To), with ``answers = 380``,
            ``alone = true`` (it is the only recipient) or ``last = true`` (only the last one sent);
            ``{ comment = 17, internal = true }``; ``{ chat = 5 }`` (channel), with ``thread = 12``;
            ``{ table = …, column = …, where = …, having = … }``: any rows.

    Raises:
        VerifierError: There is no such source.
    """
    kind, table = _read(source)
    return _KINDS[kind](evidence, table)


def check_source(source: object) -> None:
    """Refuse an invalid source.

    Raises:
        VerifierError: The source is invalid.
    """
    _read(source)


def _read(source: object) -> tuple[str, Mapping[str, Any]]:
    if isinstance(source, str):
        if source not in _KINDS or source == "table":
            raise VerifierError(f"source: {NotFoundError('source', source, _KINDS)}")
        return source, {}
    if isinstance(source, Mapping):
        kind = next((key for key in _KINDS if key in source), "")
        known = {kind, *_FIELDS.get(kind, ())}
        if kind and set(source) <= known:
            return kind, source
    raise VerifierError(
        f"source: expected one of {', '.join(_KINDS)}, or a table with one of them; got {source!r}"
    )


def _answer(evidence: Evidence, table: Mapping[str, Any]) -> list[Written]:
    return [Written(ANSWER, evidence.answer)] if evidence.answer else []


def _reason(evidence: Evidence, table: Mapping[str, Any]) -> list[Written]:
    said = given_up(evidence)
    return [Written("the reason", said.reason, said.subject)] if said and said.reason else []


def _final(evidence: Evidence, table: Mapping[str, Any]) -> list[Written]:
    return [*_answer(evidence, table), *_reason(evidence, table)]


def _user(evidence: Evidence, table: Mapping[str, Any]) -> list[Written]:
    found: list[Written] = []
    heard: list[str] = []
    for step in evidence.steps:
        if step.action.tool != MESSAGE_USER or not step_succeeded(step):
            continue
        text = user_text(step)
        if text is not None:
            found.append(Written(f"step {step.index}", text, "", tuple(heard), step.index))
        heard.append(step.observation.text)
    return found


def user_text(step: Step) -> str | None:
    """Return what the user read in a step that sent a message; None for other steps."""
    if step.action.tool != MESSAGE_USER:
        return None
    typed = next((event.message for event in step.events if event.message is not None), None)
    text = step.action.arguments.get("text") if typed is None else typed.text
    return text if isinstance(text, str) else None


def _mail(evidence: Evidence, table: Mapping[str, Any]) -> list[Written]:
    tables = evidence.tables_after
    found: list[tuple[tuple[Any, Any], Written]] = []
    for row in _rows(evidence, "mail_message", ["subject", "body", "folder_id"]):
        if row["folder_id"] != _SENT:
            continue
        to = tables.rows("mail_recipient", message_id=row["id"])
        if "mail" in table:
            first = [str(one["email"]).casefold() for one in to if one["kind"] == "to"]
            if str(table["mail"]).casefold() not in first:
                continue
            if table.get("alone") and len(to) != 1:
                continue
        if "answers" in table and row["answers_id"] != table["answers"]:
            continue
        subject = _REPLY.sub("", row["subject"].strip())
        for column in ("answers_id", "forwards_id"):
            other = tables.rows("mail_message", id=row[column]) if row[column] is not None else []
            if other and _bare(subject) == _bare(str(other[0]["subject"])):
                subject = ""
        mail = Written(name_row("mail_message", row), row["body"], subject)
        found.append(((row["sent_at"], row["id"]), mail))
    found.sort(key=lambda one: one[0])
    return [mail for _, mail in (found[-1:] if table.get("last") else found)]


def _bare(subject: str) -> str:
    return plain(_REPLY.sub("", subject.strip()))


def _comment(evidence: Evidence, table: Mapping[str, Any]) -> list[Written]:
    where: dict[str, Any] = {}
    if "comment" in table:
        where["ticket_id"] = table["comment"]
    if "internal" in table:
        where["internal"] = int(bool(table["internal"]))
    return _table(evidence, {"table": "tickets_comment", "column": "body", "where": where})


def _chat(evidence: Evidence, table: Mapping[str, Any]) -> list[Written]:
    where: dict[str, Any] = {"deleted": 0}
    if "chat" in table:
        where["channel_id"] = table["chat"]
    if "thread" in table:
        where["thread_id"] = table["thread"]
    return _table(evidence, {"table": "chat_message", "column": "text", "where": where})


def _calendar(evidence: Evidence, table: Mapping[str, Any]) -> list[Written]:
    found = []
    for name, columns in _CALENDAR.items():
        found += _table(evidence, {"table": name, "column": columns})
    return [one for one in found if one.text.strip()]


def _table(evidence: Evidence, table: Mapping[str, Any]) -> list[Written]:
    name, column = table["table"], table.get("column")
    columns = [column] if isinstance(column, str) else list(column or ())
    if not columns:
        raise VerifierError("source.column: expected the name of a column, got none")
    meant = selector(name, table.get("where"), table.get("having"))
    check_columns(evidence.tables_after, name, (*columns, *meant.where))
    return [
        Written(name_row(name, row), "\n".join(str(row[c]) for c in columns if row[c] is not None))
        for row in _rows(evidence, name, columns)
        if meant.fits(row, evidence.tables_after)
    ]


def _rows(evidence: Evidence, table: str, columns: Sequence[str]) -> list[Row]:
    """Return the rows that the agent added or changed in one of these columns."""
    return [
        change.row
        for change in changes_by(evidence, "agent")
        if change.table == table
        and change.kind != "removed"
        and (change.kind == "added" or set(columns) & set(change.after or ()))
    ]


_CALENDAR: Final = {
    "calendar_event": ["title", "description", "note"],
    "calendar_exception": ["note"],
    "calendar_attendee": ["note"],
}
_KINDS: Final[Mapping[str, Callable[[Evidence, Mapping[str, Any]], list[Written]]]] = {
    "answer": _answer,
    "reason": _reason,
    "final": _final,
    "user": _user,
    "mail": _mail,
    "comment": _comment,
    "chat": _chat,
    "calendar": _calendar,
    "table": _table,
}
_FIELDS: Final = {
    "mail": ("answers", "alone", "last"),
    "comment": ("internal",),
    "chat": ("thread",),
    "table": ("column", "where", "having"),
}
