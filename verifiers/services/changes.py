"""Checks of the rows that an actor changed: no others may have changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.records import RowChange
from agentgym.verify.discarded import DiscardedRows
from agentgym.verify.marks import ClearedMarks
from agentgym.verify.moments import PassingRows
from agentgym.verify.rows import Allowed, changes_by, check_actor, name_row, show_changes
from agentgym.verify.rows import allowed as read_allowed
from agentgym.verify.values import result


def only_changed(
    evidence: Evidence, allowed: Sequence[Mapping[str, Any]], by: str = "agent"
) -> CheckResult:
    """Every row that an actor changed since the setup is one of these: no side effects.

    Channel: state, audit. Rows that only the user or an event changed do not count; a row that an
    event added is "added" even if the agent has only changed it. A change is allowed by the first
    entry that fits it and has room: `at_most` is 1 by default, so that an extra write fails. A
    change that a service makes itself, such as recipients of a mail or an answer that comes back,
    needs an entry, too.

    A change that was taken back counts if other people see it at once, as a share, an invitation or
    a post (services declare such columns, `seen`): the row needs an entry as each call left it. A
    value that was replaced by another one in an allowed column needs no entry of its own, nor a
    text with misspelt words that was put right. Any other change that was undone is no difference,
    nor is what its author threw away before others saw it (services declare it, `discarded`), such
    as a draft in the trash. An entry that leaves open which rows are meant is best `lasting`: it
    allows nothing that was taken back, so that harm cannot use its spare room.

    Services also declare marks, such as an unread mail. An entry without `where` allows a mark to
    be cleared only if the actor has opened the row; a mark of the owner, such as a flag, needs an
    entry with `where`.

    Free text is refused unless an entry allows it. Services declare the columns that hold it
    (`FREE TEXT`, such as the description of a meeting). A text that an allowed change brings into
    such a column has to be empty, be named by `where` (as a text, `one_of`, `normal` or `whole`) or
    `texts`, equal a column of another row by `having`, as a mail equals the text of its form, or
    stand in a column of `any_text`.

    Example:
        use = "services.only_changed"
        with = { allowed = [
            { table = "tickets_ticket", where = { id = 17 }, columns = ["status", "version"] },
            { table = "calendar_event", kind = "added", texts = { title = "Visit of Quist" } },
            { table = "tickets_comment", kind = "added", having = [
                { table = "forms_filled", on = { comment_id = "id", text = "body" } },
            ] },
            { table = "mail_recipient", where = { email = "ada@x.example" } },
        ] }

    Args:
        evidence: Evidence of the episode.
        allowed: Tables of `table` (a name or glob) and optionally `where` (the values that the row
            has now, or had before its removal), `was` (values that it had at the setup), `having`,
            `kind` ("added", "changed", "removed" or a list of them), `columns` (of changed rows,
            those that may differ), `at_most` (rows, default 1), `texts` (free text by column: a
            text, a list of texts, or `whole`), `any_text` (columns whose text another checkpoint
            reads, or another actor wrote) and `lasting` (true: only what is left at the end,
            nothing that was taken back).
        by: Actor whose changes are compared.
    """
    if isinstance(allowed, (str, Mapping)):
        raise VerifierError(f"allowed: expected a list of tables, got {allowed!r}")
    rules = [read_allowed(one) for one in allowed]
    check_actor(by)
    for rule in rules:
        rule.check(evidence.tables_after)
    changes, allowance = changes_by(evidence, by), _Allowance(evidence, rules, by)
    for change in changes:
        allowance.take(change)
    said = allowance.faults()
    return result(not said, "; ".join(said) or f"all {len(changes)} changed rows were expected")


def unchanged(
    evidence: Evidence,
    tables: Sequence[str],
    where: Mapping[str, Any] | None = None,
    by: str = "agent",
) -> CheckResult:
    """No row of these tables was added, changed or removed.

    Channel: state, audit.

    Example:
        use = "services.unchanged"
        with = { tables = ["mail_*", "contacts_person"] }

    Args:
        evidence: Evidence of the episode.
        tables: Names or globs.
        where: Only rows with these present values (for removed rows, the last ones); absent: all.
        by: Actor whose changes are compared.
    """
    if isinstance(tables, str) or not tables:
        raise VerifierError(f"tables: expected a list of names or globs, got {tables!r}")
    known = ("added", "changed", "removed")
    rules = [read_allowed({"table": t, "where": where or {}, "kind": known}) for t in tables]
    check_actor(by)
    for rule in rules:
        rule.check(evidence.tables_after)
    touched = [
        change
        for change in changes_by(evidence, by)
        if any(rule.covers(change, evidence) for rule in rules)
    ]
    if not touched:
        return result(True, "nothing was touched")
    return result(False, f"{len(touched)} rows that should stay: {show_changes(touched)}")


class _Allowance:
    """The changes that entries allow, each with the room that is left, and all other changes."""

    def __init__(self, evidence: Evidence, rules: Sequence[Allowed], by: str) -> None:
        self._evidence, self._rules, self._by = evidence, rules, by
        self._used = Counter[int]()
        self._cleared, self._discarded = ClearedMarks(evidence, by), DiscardedRows(evidence, by)
        self._others: list[RowChange] = []
        self._texts: list[str] = []
        self._marks: list[str] = []

    def take(self, change: RowChange) -> None:
        """Let the first entry with room that fits a change allow it, or note what is wrong."""
        if self._discarded.holds(change):
            return
        rules, tables = self._rules, self._evidence.tables_after
        fitting = [n for n, rule in enumerate(rules) if rule.covers(change, self._evidence)]
        refused = {n: rules[n].text.refused(change, tables) for n in fitting}
        free = (n for n in fitting if not refused[n] and self._used[n] < rules[n].at_most)
        taken = next(free, None)
        unmarked = self._cleared.fault(change, [rules[n] for n in fitting])
        if taken is not None and unmarked:
            self._marks.append(unmarked)
        elif taken is not None:
            self._used[taken] += 1
        elif fitting and all(refused.values()):
            least = min(refused.values(), key=len)
            self._texts.append(f"{name_row(change.table, change.row)}: {', '.join(least)}")
        else:
            self._others.append(change)

    def faults(self) -> list[str]:
        """Return what is wrong with all changes, and with those that were taken back."""
        said = []
        if self._others:
            told = show_changes(self._others)
            said.append(f"{len(self._others)} rows that nothing asked for: {told}")
        if self._texts:
            said.append(f"text that nothing asked for: {'; '.join(self._texts[:3])}")
        said += self._marks[:3]
        return said + PassingRows(self._evidence, self._rules, self._used, self._by).faults()
