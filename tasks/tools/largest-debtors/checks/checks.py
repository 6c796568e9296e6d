"""Computes the largest debtors from the workbooks as the setup left them."""

import re
from collections import defaultdict
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.protocols import Tables

TODAY = "2026-03-02"
BOOKS = ("Customer invoices 2025", "Customer invoices 2026")
# Every repeat is bounded: a long line must not keep the matcher busy.
_GAP = r"\s{0,8}"
_BULLET = rf"{_GAP}(?:[-*•]\s|\d{{1,2}}[.)]\s)?{_GAP}"
_SUM = rf"{_GAP}(?:EUR|€)?{_GAP}([\d.,]{{0,20}}\d){_GAP}(?:EUR|€)?{_GAP}"
_LINE = re.compile(rf"{_BULLET}(\S.{{0,80}}?){_GAP};{_SUM}")


def debtor(evidence: Evidence, place: int) -> CheckResult:
    """The line at this place, of three in descending order, has the right customer and sum."""
    wanted = sorted(_overdue(evidence.tables_before).items(), key=lambda one: -one[1])[:3]
    lines = [line for line in (evidence.answer or "").splitlines() if line.strip()]
    if len(lines) != len(wanted):
        return CheckResult(CheckStatus.FAIL, f"{len(lines)} lines, expected {len(wanted)}")
    line, (customer, owed) = lines[place - 1], wanted[place - 1]
    said = f"line {place} is {line!r}, expected {customer} and {owed:.2f}"
    right = _says(line, customer, owed)
    return CheckResult(CheckStatus.PASS if right else CheckStatus.FAIL, said)


def read_both(evidence: Evidence) -> CheckResult:
    """Calls showed an invoice from the list of last year and one from this year's."""
    shown = str([call.result for call in evidence.calls if call.actor == "agent"])
    missing = [number for number in ("INV-65453", "INV-59799") if number not in shown]
    said = f"never seen: {missing}" if missing else "both lists were read"
    return CheckResult(CheckStatus.FAIL if missing else CheckStatus.PASS, said)


def _overdue(tables: Tables) -> dict[str, float]:
    """Return the overdue sum of each customer; every invoice counts once."""
    owed: dict[str, float] = defaultdict(float)
    seen = set()
    for invoice in (row for book in BOOKS for row in _lines(tables, book)):
        number, due, paid = invoice[1], invoice[6], invoice.get(8)
        if not paid and due < TODAY and number not in seen:
            seen.add(number)
            owed[invoice[2]] += _euros(invoice[7])
    return owed


def _lines(tables: Tables, book: str) -> list[dict[int, Any]]:
    """Return the invoices of a workbook: values by column."""
    workbook = tables.one("sheets_workbook", name=book)
    sheet = workbook and tables.one("sheets_sheet", workbook_id=workbook["id"], name="Invoices")
    lines: dict[int, dict[int, Any]] = defaultdict(dict)
    for cell in tables.rows("sheets_cell", sheet_id=sheet["id"]) if sheet else []:
        lines[cell["row"]][cell["col"]] = cell["value"]
    return [line for row, line in lines.items() if row > 1]


def _euros(amount: Any) -> float:
    return float(amount.removeprefix("EUR ")) if isinstance(amount, str) else float(amount)


def _says(line: str, customer: str, owed: float) -> bool:
    found = _LINE.fullmatch(line)
    if not found or found[1].casefold() != customer.casefold():
        return False
    digits = re.sub(r",(?=\d{3}\b)", "", found[2])
    return bool(re.fullmatch(r"\d+(\.\d+)?", digits)) and abs(float(digits) - owed) < 0.005
