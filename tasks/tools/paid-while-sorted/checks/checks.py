"""Compares both invoice workbooks by invoice number, because rows move."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.protocols import Tables

SHEETS = (31, 33)
"""The sheets Invoices of the workbooks Customer invoices 2025 and 2026."""

DAYS = {
    "INV-58084": "2026-02-27",
    "INV-59799": "2026-02-27",
    "INV-20020": "2026-02-28",
    "INV-92789": "2026-03-02",
    "INV-70393": "2026-02-28",
}
LIAM = (
    ("INV-31313", "Vantage Fitness", "Ledgerly", 12, "2026-01-10", "2026-02-09", 864),
    ("INV-47110", "Delta Freight", "Vaultdrive", 30, "2026-01-24", "2026-02-23", 1080),
)


def paid(evidence: Evidence) -> CheckResult:
    """The invoices have the day of the statement; credit is their share."""
    seen = {line[0]: line[7] for line in _lines(evidence.tables_after)}
    missing = {number: seen.get(number) for number, day in DAYS.items() if seen.get(number) != day}
    wrong = [f"{number}: {day}" for number, day in missing.items()]
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"all {len(DAYS)} have their day")
    message = f"expected the day of the statement, got {'; '.join(wrong)}"
    return CheckResult(CheckStatus.FAIL, message, score=1 - len(wrong) / len(DAYS))


def others_kept(evidence: Evidence) -> CheckResult:
    """Except for these days the lines are the old ones and the two that Liam has entered."""
    world = {call.tool for call in evidence.calls if call.actor == "world"}
    came = [("event row-above", LIAM[0]), ("event another-row", LIAM[1])]
    wanted = Counter(_plain(line) for line in _lines(evidence.tables_before))
    wanted.update((*line, None) for event, line in came if event in world)
    seen = Counter(_plain(line) for line in _lines(evidence.tables_after))
    if seen == wanted:
        return CheckResult(CheckStatus.PASS, "all other lines are as they should be")
    lost, new = sorted(map(str, wanted - seen)), sorted(map(str, seen - wanted))
    return CheckResult(CheckStatus.FAIL, f"lines differ, for example {lost[:1]} and {new[:1]}")


def _plain(line: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a line as it is compared, without the day if it is on the statement."""
    given = line[0] in DAYS and line[7] == DAYS[line[0]]
    return (*line[:7], None if given else line[7])


def _lines(tables: Tables) -> list[tuple[Any, ...]]:
    """Return columns A to H of each row of both sheets of invoices."""
    return [line for sheet in SHEETS for line in _rows(tables, sheet)]


def _rows(tables: Tables, sheet: int) -> list[tuple[Any, ...]]:
    rows: dict[int, dict[int, Any]] = defaultdict(dict)
    for cell in tables.rows("sheets_cell", sheet_id=sheet):
        rows[cell["row"]][cell["col"]] = cell["value"]
    return [tuple(row.get(column) for column in range(1, 9)) for row in rows.values()]
