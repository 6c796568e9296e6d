"""The lines of the team have the rates and the allowances of the page, and no other line has."""

from __future__ import annotations

import json
from typing import Any

from agentgym import CheckResult, Evidence, catalogue
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import Comparison, result

READER = catalogue.find("verifiers", "office") / "reader.py"
PATH, SHEET = "/home/user/Travel/trips.xlsx", "Trips"
MOST_BYTES = 2**20
TOLERANCE = 0.004


def rates(evidence: Evidence, kind: str) -> CheckResult:
    """The trips of a kind have the right rates for a full and for a half day.

    Args:
        evidence: Evidence of the episode.
        kind: "plain", "dated" (the day of departure matters), "city" or "long".
    """
    cells = _cells(evidence)
    lines = [line for line in _lines(evidence) if line["kind"] == kind]
    wanted = {f"row {line['row']}": line["rates"] for line in lines}
    seen = {f"row {line['row']}": cells[line["row"]][:2] for line in lines}
    return _compared(seen, wanted)


def allowances(evidence: Evidence) -> CheckResult:
    """Every trip of the team has the right allowance."""
    cells = _cells(evidence)
    lines = [line for line in _lines(evidence) if line["kind"] != "other"]
    wanted = {f"row {line['row']}": [line["allowance"]] for line in lines}
    seen = {f"row {line['row']}": cells[line["row"]][2:] for line in lines}
    return _compared(seen, wanted)


def others_empty(evidence: Evidence) -> CheckResult:
    """The trips of the other teams have neither rates nor allowances."""
    cells = _cells(evidence)
    filled = [
        line["row"]
        for line in _lines(evidence)
        if line["kind"] == "other" and any(cell != "" for cell in cells[line["row"]])
    ]
    return result(not filled, f"lines of other teams that are filled in: {filled}")


def _compared(seen: dict[str, list[Any]], wanted: dict[str, list[Any]]) -> CheckResult:
    for name, values in wanted.items():
        if fault := Comparison(TOLERANCE).difference([seen[name]], [values]):
            return result(False, f"{name}: {fault}")
    return result(True, f"{len(wanted)} lines are right")


def _lines(evidence: Evidence) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(evidence.gold("lines.json"))
    return found


def _cells(evidence: Evidence) -> dict[int, list[Any]]:
    """Return the three cells to be filled in, by row."""
    lines = _lines(evidence)
    first, last = lines[0]["row"], lines[-1]["row"]
    order = {"what": "values", "sheet": SHEET, "at": f"G{first}:I{last}"}
    data = evidence.after.read(PATH, max_bytes=MOST_BYTES)
    values = ask(READER, order, {"file": data}, what=PATH)
    return dict(enumerate(values, first))
