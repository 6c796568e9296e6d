"""The totals are formulas over the right cells, and only the cheapest row is bold."""

from __future__ import annotations

import json
import re
from typing import Any

from agentgym import CheckResult, Evidence, catalogue
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import Comparison, brief, result

READER = catalogue.find("verifiers", "office") / "reader.py"
PATH, SHEET, ROWS = "/home/user/Documents/comparison.xlsx", "Comparison", (6, 7, 8)
MOST_BYTES = 2**20
RANGE = re.compile(r"\$?([A-Z])\$?(\d{1,3})(?::\$?([A-Z])\$?(\d{1,3}))?(?![A-Z0-9(])")


def totals(evidence: Evidence) -> CheckResult:
    """Every total is right, and a formula over its own prices, the freight and the pieces."""
    wanted = json.loads(evidence.gold("offers.json"))["totals"]
    names = [f"G{row}" for row in ROWS]
    held = _ask(evidence, what="formulas", at=names)
    for row, name in zip(ROWS, names, strict=True):
        needed = {f"{column}{row}" for column in "BCDEF"} | {f"{column}5" for column in "BCDE"}
        if missing := needed - _cells(held[name]):
            return result(False, f"{name}: {brief(held[name])} does not use {min(missing)}")
        # ROUND(…, 2) may have its digit.
        if re.search(r"\d\d", RANGE.sub("", held[name][:400].upper())):
            return result(False, f"{name}: {brief(held[name])} holds figures of its own")
    seen = _ask(evidence, what="values", at=f"{names[0]}:{names[-1]}")
    fault = Comparison(0.001).difference(seen, wanted)
    return result(not fault, fault or "three totals, computed")


def only_cheapest_bold(evidence: Evidence) -> CheckResult:
    """The row of the cheapest supplier is bold from end to end, and no other supplier's is."""
    best = ROWS[json.loads(evidence.gold("offers.json"))["cheapest"]]
    for cell in _ask(evidence, what="style", at="A5:H8"):
        if cell["bold"] != (cell["cell"][1:] == str(best)):
            return result(False, f"{cell['cell']}: bold is {cell['bold']}, the cheapest is {best}")
    return result(True, f"row {best} is bold")


def _ask(evidence: Evidence, **order: Any) -> Any:
    data = evidence.after.read(PATH, max_bytes=MOST_BYTES)
    return ask(READER, {"sheet": SHEET, **order}, {"file": data}, what=PATH)


def _cells(formula: str) -> set[str]:
    """Return the cells of the sheet that a formula names, those within ranges too."""
    cells = set()
    for left, top, right, bottom in RANGE.findall(formula[:400].upper()):
        for column in range(ord(left), ord(right or left) + 1):
            cells |= {f"{chr(column)}{row}" for row in range(int(top), int(bottom or top) + 1)}
    return cells
