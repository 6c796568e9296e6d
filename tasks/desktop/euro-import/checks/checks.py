"""The workbook holds what the CSV file says, as dates, numbers and formulas."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agentgym import CheckResult, Evidence, GuestFileError, catalogue
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import Comparison, brief, result

READER = catalogue.find("verifiers", "office") / "reader.py"
TYPES = Path(__file__).with_name("reader.py")
FOLDER = "/home/user/Documents"
MOST_BYTES = 2**20
HEADER = ["Datum", "Kunde", "Ort", "Menge", "Betrag"]
RANGE = re.compile(r"([A-Z])(\d{1,3})(?::([A-Z])(\d{1,3}))?(?![A-Z0-9(])")


def texts(evidence: Evidence, file: str) -> CheckResult:
    """The header and the columns of text are those of the CSV file."""
    rows = _rows(evidence)
    wanted = [HEADER, *([row[1], row[2]] for row in rows)]
    seen = _ask(evidence, file, what="values", at=f"A1:E{len(rows) + 1}")
    fault = Comparison().difference([seen[0], *([row[1], row[2]] for row in seen[1:])], wanted)
    return result(not fault, fault or f"{len(rows)} lines")


def dates(evidence: Evidence, file: str) -> CheckResult:
    """The days are right, and dates: text that looks like one is none."""
    rows = _rows(evidence)
    at = f"A2:A{len(rows) + 1}"
    seen = _ask(evidence, file, what="values", at=at)
    fault = Comparison().difference(seen, [[row[0]] for row in rows])
    if fault:
        return result(False, fault)
    path = f"{FOLDER}/{file}"
    data = evidence.after.read(path, max_bytes=MOST_BYTES)
    types = ask(TYPES, {"at": at}, {"file": data}, what=path)
    if set(types) != {"d"}:
        return result(False, f"{at}: expected dates only, got types {sorted(set(types))}")
    return result(True, f"{len(rows)} dates")


def numbers(evidence: Evidence, file: str) -> CheckResult:
    """Pieces and amounts are right, and numbers."""
    rows = _rows(evidence)
    seen = _ask(evidence, file, what="values", at=f"D2:E{len(rows) + 1}")
    fault = Comparison(0.001).difference(seen, [row[3:] for row in rows])
    return result(not fault, fault or f"{len(rows)} lines of numbers")


def total(evidence: Evidence, file: str) -> CheckResult:
    """The line below the last one adds up both columns by formulas, and nothing follows."""
    rows = _rows(evidence)
    last = len(rows) + 1
    sums = [round(sum(row[column] for row in rows), 2) for column in (3, 4)]
    formulas = _ask(evidence, file, what="formulas", at=[f"D{last + 1}", f"E{last + 1}"])
    for column in "DE":
        held = formulas[f"{column}{last + 1}"]
        if _cells(held) != _cells(f"{column}2:{column}{last}") or _typed(held):
            return result(False, f"{column}{last + 1}: {brief(held)} adds up other cells")
    seen = _ask(evidence, file, what="values", at=f"A{last + 1}:E{last + 2}")
    fault = Comparison(0.001).difference(seen, [["Total", "", "", *sums], [""] * 5])
    return result(not fault, fault or "two totals, computed")


def _rows(evidence: Evidence) -> list[list[Any]]:
    found: list[list[Any]] = json.loads(evidence.gold("rows.json"))
    return found


def _ask(evidence: Evidence, file: str, **order: Any) -> Any:
    """Ask about the only sheet, whatever its name."""
    path = f"{FOLDER}/{file}"
    data = evidence.after.read(path, max_bytes=MOST_BYTES)
    names = ask(READER, {"what": "sheets"}, {"file": data}, what=path)
    if len(names) != 1:
        raise GuestFileError(f"{path}: has {len(names)} sheets, expected one")
    return ask(READER, {"sheet": names[0], **order}, {"file": data}, what=path)


def _cells(formula: str) -> set[str]:
    """Return the cells that a formula names, those within ranges too."""
    cells = set()
    for left, top, right, bottom in RANGE.findall(str(formula)[:400].upper().replace("$", "")):
        for column in range(ord(left), ord(right or left) + 1):
            cells |= {f"{chr(column)}{row}" for row in range(int(top), int(bottom or top) + 1)}
    return cells


def _typed(formula: str) -> bool:
    """Return whether figures are written into a formula; ROUND(…, 2) may have its digit."""
    return bool(re.search(r"\d\d", RANGE.sub("", formula[:400].upper().replace("$", ""))))
