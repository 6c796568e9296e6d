"""A mended cell is a formula over the right cells."""

from __future__ import annotations

import re

from agentgym import CheckResult, Evidence, catalogue
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import brief, is_number, result

READER = catalogue.find("verifiers", "office") / "reader.py"
PATH = "/home/user/Documents/budget-2026.xlsx"
MOST_BYTES = 2**20
RANGE = re.compile(r"([A-Z])(\d{1,3})(?::([A-Z])(\d{1,3}))?(?![A-Z0-9(])")


def adds_up(evidence: Evidence, sheet: str, cell: str, of: str, value: float) -> CheckResult:
    """A cell is a formula over exactly these cells of the budget, and has this value.

    Args:
        evidence: Evidence of the episode.
        sheet: Name of the sheet.
        cell: The cell.
        of: A range of the sheet Budget.
        value: The value.
    """
    data, order = evidence.after.read(PATH, max_bytes=MOST_BYTES), {"sheet": sheet}
    formula = ask(READER, {**order, "what": "formulas", "at": [cell]}, {"file": data}, what=PATH)
    held = str(formula[cell])
    if _cells(held) != _cells(of) or _typed(held):
        return result(False, f"{sheet}!{cell}: {brief(held)}, expected the sum of {of}")
    [[seen]] = ask(READER, {**order, "what": "values", "at": cell}, {"file": data}, what=PATH)
    right = is_number(seen) and abs(seen - value) < 0.001
    return result(right, f"{sheet}!{cell}: {brief(held)} is {brief(seen)}, expected {value}")


def _cells(formula: str) -> set[str]:
    """Return the cells that a formula names, those within ranges too; sheets do not count."""
    cells = set()
    for left, top, right, bottom in RANGE.findall(formula[:400].upper().replace("$", "")):
        for column in range(ord(left), ord(right or left) + 1):
            cells |= {f"{chr(column)}{row}" for row in range(int(top), int(bottom or top) + 1)}
    return cells


def _typed(formula: str) -> bool:
    """Return whether figures are written into a formula; ROUND(…, 2) may have its digit."""
    return bool(re.search(r"\d\d", RANGE.sub("", formula[:400].upper().replace("$", ""))))
