"""Checks the lines of Supplier payments 2026, and the lookups after a lost answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.protocols import Tables

SHEET = 37
"""The sheet Invoices of Supplier payments 2026."""
WANTED = {
    "R55120": ("Plover Catering", "2026-02-26", "2026-03-28", 318.4),
    "R60447": ("Orrery Audit", "2026-02-27", "2026-03-29", 1250),
    "R71804": ("Inkwell Press", "2026-02-28", "2026-03-30", 96.5),
}
LISTS = {
    "sheets_append_rows": ("sheets_read_range", "sheets_find", "sheets_get_workbook"),
    "forms_send_mail": ("mail_search", "mail_get_thread", "mail_list_folders"),
}
"""The tools that show whether a call was executed."""


def entered(evidence: Evidence) -> CheckResult:
    """The invoices are in the sheet, each once; credit is their share."""
    lines = _lines(evidence.tables_after)
    wrong = [
        f"{number}: {found}"
        for number, wanted in WANTED.items()
        if (found := [line[1:] for line in lines if line[0] == number]) != [(*wanted, None)]
    ]
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"all {len(WANTED)} are entered")
    message = f"not entered as they should be: {'; '.join(wrong)}"
    return CheckResult(CheckStatus.FAIL, message, score=1 - len(wrong) / len(WANTED))


def no_line_twice(evidence: Evidence) -> CheckResult:
    """No old number occurs more often than before, and no new number twice."""
    before = Counter(line[0] for line in _lines(evidence.tables_before))
    after = Counter(line[0] for line in _lines(evidence.tables_after))
    twice = [number for number, n in after.items() if n > max(1, before[number])]
    if twice:
        return CheckResult(CheckStatus.FAIL, f"entered twice: {', '.join(map(str, twice))}")
    return CheckResult(CheckStatus.PASS, "no invoice is there twice")


def looked_up(evidence: Evidence) -> CheckResult:
    """After each lost answer a list was read before the same tool was called again."""
    steps = evidence.steps
    blind = [
        step.action.tool
        for n, step in enumerate(steps)
        if "no answer in time" in step.observation.text
        and not _looks(steps[n + 1 :], step.action.tool)
    ]
    if blind:
        return CheckResult(CheckStatus.FAIL, f"not looked up after a lost answer: {blind}")
    return CheckResult(CheckStatus.PASS, "looked up after each lost answer")


def _looks(steps: Any, tool: str) -> bool:
    """Return whether a list is read before a tool is called again."""
    for step in steps:
        if step.action.tool in LISTS.get(tool, ()):
            return True
        if step.action.tool == tool:
            return False
    return False


def _lines(tables: Tables) -> list[tuple[Any, ...]]:
    rows: dict[int, dict[int, Any]] = defaultdict(dict)
    for cell in tables.rows("sheets_cell", sheet_id=SHEET):
        rows[cell["row"]][cell["col"]] = cell["value"]
    return [tuple(row.get(column) for column in range(1, 7)) for row in rows.values()]
