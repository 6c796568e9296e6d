"""Checks the value of one cell, and whether its formula follows the cells it adds up."""

import re
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence

_CELL = r"(?:\w+!)?\$?[A-Z]{1,2}\$?\d+"
_NUMBER = re.compile(r"\d")


def value(evidence: Evidence, sheet: int, row: int, col: int, value: float) -> CheckResult:
    """The cell has this value, to the cent, and had another one before."""
    before, after = (
        tables.one("sheets_cell", sheet_id=sheet, row=row, col=col)
        for tables in (evidence.tables_before, evidence.tables_after)
    )
    if not _is(before, value) and _is(after, value):
        return CheckResult(CheckStatus.PASS, f"{value}")
    said = f"the cell has {after and after['value']!r}, expected {value}"
    return CheckResult(CheckStatus.FAIL, said)


def added_up(evidence: Evidence, sheet: int, row: int, col: int) -> CheckResult:
    """The cell has a formula over cells, without numbers other than places to round to."""
    cell = evidence.tables_after.one("sheets_cell", sheet_id=sheet, row=row, col=col)
    formula = (cell and cell["formula"]) or ""
    rest, cells = re.subn(_CELL, "", re.sub(r",\s*2\s*\)", ")", formula.upper()))
    live = cells > 0 and not _NUMBER.search(rest)
    said = f"the formula is {formula!r}, expected one over cells"
    return CheckResult(CheckStatus.PASS if live else CheckStatus.FAIL, said)


def _is(cell: dict[str, Any] | None, value: float) -> bool:
    seen = cell and cell["value"]
    return isinstance(seen, int | float) and abs(seen - value) < 0.005
