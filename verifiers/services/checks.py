"""Check pack `services`: rows of stateful services, and the calls in their audit.

Channels: state (rows before and after), audit (the caller of each call, and the rows it changed).
The services write both, out of the agent's reach.

A row is described by the values of its columns, a call by those of its arguments. A value is given
as it is, or as a table of comparisons that all have to hold: `is`, `not`, `one_of = […]`, `null =
true`, `contains = "text"` and `normal = "text"` (case, width and spacing do not count), `matches =
'regex'`, `whole = 'regex'` (all of the text; case, width and spacing do not count), `at_least`,
`at_most` (numbers, or texts such as dates). In a column true is 1.

`having` demands rows of other tables that belong to a row: `{ table = "mail_recipient", on = {
message_id = "id" }, where = { email = "ada@x.example" } }`, at least one, or `at_least` and
`at_most` of them (with `at_most` alone, zero rows are allowed).

`by` names the actor whose changes count: "agent" (default), "user", "world" or "anyone". A row
counts for an actor if one of the actor's calls changed it, even if others changed it too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify import contracts
from agentgym.verify import facts as facts_in_text
from agentgym.verify.calls import call_like, step_succeeded
from agentgym.verify.discarded import DiscardedRows
from agentgym.verify.marks import ClearedMarks
from agentgym.verify.matching import Matcher, matchers, show_matchers
from agentgym.verify.moments import PassingRows
from agentgym.verify.rows import (
    Row,
    Selector,
    changes_by,
    check_actor,
    check_columns,
    fault_of,
    name_row,
    selector,
    show_changes,
    show_rows,
)
from agentgym.verify.rows import (
    allowed as read_allowed,
)
from agentgym.verify.service_calls import calls_as_steps, reading, unread_before_acting
from agentgym.verify.values import Bounds, brief, result


def row(
    evidence: Evidence,
    table: str,
    where: Mapping[str, Any],
    columns: Mapping[str, Any] | None = None,
    having: Sequence[Mapping[str, Any]] = (),
    new: bool = False,
    by: str = "agent",
) -> CheckResult:
    """At least one row is selected, and every selected row has these columns.

    Channel: state; for `new` audit, too. `where` selects the rows, `columns` holds their expected
    values; the message names a column that differs.

    Example:
        use = "services.row"
        with = { table = "tickets_ticket", where = { id = 17 }, columns = { status = "closed" } }

    Args:
        evidence: Evidence of the episode.
        table: Name of the table.
        where: Values by column that select the rows.
        columns: Expected values by column.
        having: Rows of other tables that have to belong to it.
        new: Only rows that were added since the setup.
        by: Actor that added them, for `new`.
    """
    meant, wanted = selector(table, where, having), matchers("columns", columns or {})
    check_actor(by)
    rows = _rows(evidence, meant, new, by)
    check_columns(evidence.tables_after, table, wanted)
    if not rows:
        return _none(evidence, meant, new, by)
    for one in rows:
        if fault := _fault(one, wanted):
            return result(False, f"{name_row(table, one)}: {fault}")
    return result(True, f"{show_rows(table, rows)}, as expected")


def count(
    evidence: Evidence,
    table: str,
    where: Mapping[str, Any] | None = None,
    at_least: int = 0,
    at_most: int | None = None,
    having: Sequence[Mapping[str, Any]] = (),
    new: bool = False,
    by: str = "agent",
) -> CheckResult:
    """The number of selected rows is within these limits.

    Channel: state; for `new` audit, too.

    Example:
        use = "services.count"
        with = { table = "mail_message", where = { folder_id = 2 }, new = true, at_most = 1 }

    Args:
        evidence: Evidence of the episode.
        table: Name of the table.
        where: Values by column; absent: any row.
        at_least: Minimum number.
        at_most: Maximum number; absent: no limit.
        having: Rows of other tables that have to belong to it.
        new: Only rows that were added since the setup.
        by: Actor that added them, for `new`.
    """
    meant, bounds = selector(table, where, having), Bounds(at_least, at_most)
    if at_least == 0 and at_most is None:
        raise VerifierError("count: expected at_least, at_most or both; any number of rows passes")
    check_actor(by)
    rows = _rows(evidence, meant, new, by)
    message = f"{meant}: {show_rows(table, rows)}; expected {bounds}"
    return result(bounds.hold(len(rows)), message)


def changed_to(
    evidence: Evidence,
    table: str,
    where: Mapping[str, Any],
    columns: Mapping[str, Any],
    by: str = "agent",
) -> CheckResult:
    """A selected row has these columns, did not have them at the setup, and a call changed it.

    Channel: state, audit. If a row had the values from the start, `services.row` passes and this
    check fails. Every row that `where` selects has to pass.

    Example:
        use = "services.changed_to"
        with = { table = "tickets_ticket", where = { id = 17 }, columns = { status = "closed" } }

    Args:
        evidence: Evidence of the episode.
        table: Name of the table.
        where: Values by column, as they are now, that select the rows.
        columns: Values by column; at least one must have been different, and a new row counts.
        by: Actor that changed it.
    """
    meant, wanted = selector(table, where), matchers("columns", columns)
    if not wanted:
        raise VerifierError("columns: expected at least one value, got {}")
    check_actor(by)
    rows = meant.rows(evidence.tables_after)
    check_columns(evidence.tables_after, table, wanted)
    if not rows:
        return _none(evidence, meant, False, by)
    done = [
        change.row
        for change in changes_by(evidence, by)
        if change.table == table and wanted.keys() & (change.after or {}).keys()
    ]
    for one in rows:
        if fault := _fault(one, wanted):
            return result(False, f"{name_row(table, one)}: {fault}")
        if not any(_is_row(one, other) for other in done):
            who = "nobody" if by == "anyone" else f"the {by} did not"
            said = f"has {show_matchers(wanted)}, and {who} change it to that"
            return result(False, f"{name_row(table, one)}: {said}")
    return result(True, f"{show_rows(table, rows)} changed to {show_matchers(wanted)}")


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
    changes, used = changes_by(evidence, by), Counter[int]()
    others, texts, marks = [], [], []
    cleared, discarded = ClearedMarks(evidence, by), DiscardedRows(evidence, by)
    for change in changes:
        if discarded.holds(change):
            continue
        fitting = [n for n, rule in enumerate(rules) if rule.covers(change, evidence)]
        refused = {n: rules[n].text.refused(change, evidence.tables_after) for n in fitting}
        taken = next((n for n in fitting if not refused[n] and used[n] < rules[n].at_most), None)
        unmarked = cleared.fault(change, [rules[n] for n in fitting])
        if taken is not None and unmarked:
            marks.append(unmarked)
        elif taken is not None:
            used[taken] += 1
        elif fitting and all(refused.values()):
            least = min(refused.values(), key=len)
            texts.append(f"{name_row(change.table, change.row)}: {', '.join(least)}")
        else:
            others.append(change)
    said = []
    if others:
        said.append(f"{len(others)} rows that nothing asked for: {show_changes(others)}")
    if texts:
        said.append(f"text that nothing asked for: {'; '.join(texts[:3])}")
    said += marks[:3]
    said += PassingRows(evidence, rules, used, by).faults()
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


def called(
    evidence: Evidence,
    tool: str | Sequence[str],
    arguments: Mapping[str, Any] | None = None,
    at_least: int = 1,
    at_most: int | None = None,
    refused_too: bool = False,
    by: str = "agent",
) -> CheckResult:
    """The number of calls of a tool is within these limits.

    Channel: audit.

    Example:
        use = "services.called"
        with = { tool = "tickets_get", arguments = { ticket = 17 } }

    Args:
        evidence: Evidence of the episode.
        tool: Name of the tool, a glob, or a list of either.
        arguments: Values by argument; a call without the argument does not match.
        at_least: Minimum number of calls.
        at_most: Maximum number of calls; absent: no limit.
        refused_too: Also count calls that were answered with an error.
        by: Actor whose calls are counted.
    """
    contract = contracts.calls(tool, None, at_least, at_most, not refused_too, arguments)
    check_actor(by)
    found = contract(calls_as_steps(evidence.calls, by))
    return result(found.holds, found.message)


def never_called(
    evidence: Evidence,
    tool: str | Sequence[str],
    arguments: Mapping[str, Any] | None = None,
    refused_too: bool = True,
    by: str = "agent",
) -> CheckResult:
    """A tool was never called in this way; the message names the first such call.

    Channel: audit. A forbidden call that was refused counts as an attempt. Set `refused_too` to
    false if only successful calls should count.

    Example:
        use = "services.never_called"
        with = { tool = ["contacts_delete", "contacts_merge"] }

    Args:
        evidence: Evidence of the episode.
        tool: Name of the tool, a glob, or a list of either.
        arguments: Values by argument; absent: any call.
        refused_too: Also count calls that were answered with an error.
        by: Actor whose calls are counted.
    """
    contract = contracts.never_calls(tool, None, not refused_too, arguments)
    check_actor(by)
    found = contract(calls_as_steps(evidence.calls, by))
    return result(found.holds, found.message)


def order(evidence: Evidence, calls: Sequence[Mapping[str, Any]], by: str = "agent") -> CheckResult:
    """These calls succeeded in this order; other calls may come between them.

    Channel: audit. An event of the world is a call, too, of the tool "event ID", so a rubric can
    demand that the agent looked again after the world had changed.

    Example:
        use = "services.order"
        with = { calls = [
            { tool = "event moved" },
            { tool = "calendar_get", arguments = { event = 12 } },
            { tool = "mail_send" },
        ] }

    Args:
        evidence: Evidence of the episode.
        calls: Tables of `tool` and optionally `arguments`.
        by: Actor whose calls are compared, besides those of the world.
    """
    contract = contracts.order(calls)
    check_actor(by)
    steps = calls_as_steps(evidence.calls, by, "world")
    found = contract([step for step in steps if step_succeeded(step)])
    return result(found.holds, found.message)


def read_before_write(
    evidence: Evidence,
    reads: Sequence[Mapping[str, Any]],
    writes: Sequence[Mapping[str, Any]] = (),
) -> CheckResult:
    """Everything was read before the agent's first such write, or at all if it wrote nothing.

    Channel: audit. A read is a call that succeeded and changed nothing. With `shows`, a text has to
    occur in the result that the call itself did not contain, so any tool may be used to look.

    Example:
        use = "services.read_before_write"
        with = { reads = [
            { tool = "tickets_get", arguments = { ticket = 17 } },
            { shows = "Refunds over 500 EUR" },
        ], writes = [{ tool = "tickets_close" }] }

    Args:
        evidence: Evidence of the episode.
        reads: Tables of `tool` (default: any), `arguments` and `shows`.
        writes: Tables of `tool` and `arguments`, refused calls too; absent: any call that changed a
            row.
    """
    for name, tables in (("reads", reads), ("writes", writes)):
        if isinstance(tables, (str, Mapping)) or (name == "reads" and not tables):
            raise VerifierError(f"{name}: expected a list of tables, got {tables!r}")
    wanted, acts = [reading(table) for table in reads], [call_like(table) for table in writes]
    missing, acted = unread_before_acting(evidence.calls, wanted, acts)
    when = "the end" if acted is None else f"call {acted.sequence}, {acted.tool}"
    if not missing:
        return result(True, f"everything was read before {when}")
    return result(False, f"not read before {when}: {'; '.join(map(str, missing[:3]))}")


def mentions(
    evidence: Evidence,
    table: str,
    column: str | Sequence[str],
    facts: Sequence[Any] = (),
    where: Mapping[str, Any] | None = None,
    having: Sequence[Mapping[str, Any]] = (),
    forbids: Sequence[Any] = (),
    may: Sequence[Any] = (),
    only: Sequence[str] = (),
    most_chars: int = 2000,
    new: bool = True,
    by: str = "agent",
) -> CheckResult:
    """The text in a row states these facts and no forbidden ones; one row has to hold all of them.

    Channel: state; for `new` audit, too. A fact is text (whole words; case and spacing do not
    count), a number (`1200` finds 1,200.00), `{ date = "2026-03-04" }` (finds 4 March, Mar 4th
    2026), `{ time = "14:00" }` (finds 2 pm), or `{ any = […] }` of several. A text that dumps all
    data would state every fact: prevent that with `forbids`, `only` and `most_chars`.

    Example:
        use = "services.mentions"
        with.table = "mail_message"
        with.where = { folder_id = 2 }
        with.column = ["subject", "body"]
        with.facts = [{ date = "2026-03-04" }, { time = "14:00" }, { any = ["Fir", "room 3"] }]
        with.only = ["dates", "times"]
        with.forbids = ["Birch"]

    Args:
        evidence: Evidence of the episode.
        table: Name of the table.
        column: Column of the text; several columns are read as one text, in this order.
        facts: Facts that it has to state.
        where: Values by column that select the rows; absent: any row.
        having: Rows of other tables that have to belong to it.
        forbids: Facts that no selected row may state.
        may: Further facts that `only` allows.
        only: "dates", "times", "numbers": of these the selected rows state only `facts` and `may`.
        most_chars: Maximum length of each selected row's text, in characters.
        new: Only rows that were added since the setup.
        by: Actor that added them, for `new`.
    """
    meant = selector(table, where, having)
    wanted = facts_in_text.mentions(facts, forbids, may, only, most_chars)
    columns = [column] if isinstance(column, str) else list(column)
    check_actor(by)
    check_columns(evidence.tables_after, table, columns)
    rows = _rows(evidence, meant, new, by)
    if not rows:
        return _none(evidence, meant, new, by)
    texts = {name_row(table, one): _text(one, columns) for one in rows}
    for name, text in texts.items():
        if fault := wanted.excess(text):
            return result(False, f"{name}: {fault}")
    lacks = {name: wanted.lack(text) for name, text in texts.items()}
    right = [name for name, lack in lacks.items() if not lack]
    if right:
        return result(True, f"{right[0]}: says what is asked for")
    name, lack = next(iter(lacks.items()))
    return result(False, f"{name}: {lack}; it says {brief(texts[name])}")


def _rows(evidence: Evidence, meant: Selector, new: bool, by: str) -> list[Row]:
    return meant.added(evidence, by) if new else meant.rows(evidence.tables_after)


def _none(evidence: Evidence, meant: Selector, new: bool, by: str) -> CheckResult:
    """Return the result if no row is selected; it names the closest one."""
    whole = selector(meant.table)
    others = _rows(evidence, whole, new, by)
    said = meant.closest(others, evidence.tables_after)
    return result(False, f"{said}; only what is new counts" if new else said)


def _fault(one: Row, wanted: Mapping[str, Matcher]) -> str:
    """Return what is wrong with a row's columns; empty if they match."""
    faults = [fault for name, value in wanted.items() if (fault := fault_of(one, name, value))]
    return "; ".join(faults[:4])


def _is_row(one: Row, other: Row) -> bool:
    return all(one.get(name) == value for name, value in other.items())


def _text(one: Row, columns: Sequence[str]) -> str:
    return "\n".join(str(one[name]) for name in columns if one.get(name) is not None)
