"""Checks of rows that have to be there, with their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify import facts as facts_in_text
from agentgym.verify.matching import Matcher, matchers, show_matchers
from agentgym.verify.rows import (
    Row,
    Selector,
    changes_by,
    check_actor,
    check_columns,
    fault_of,
    name_row,
    selector,
    show_rows,
)
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
