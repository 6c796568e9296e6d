"""Checks the lines of the sheet against the orders."""

import json
from collections.abc import Sequence

from agentgym import CheckResult, CheckStatus, Evidence

_FIRST = 2


def corrected(evidence: Evidence) -> CheckResult:
    """Every line that was there says what the shop says."""
    wanted = _wanted(evidence)["lines"]
    before, after = _lines(evidence, before=True), _lines(evidence, before=False)
    rows = range(_FIRST, _FIRST + len(wanted))
    open_ones = [row for row in rows if not _same(before.get(row), wanted[row - _FIRST])]
    right = [row for row in rows if _same(after.get(row), wanted[row - _FIRST])]
    done = set(right) & set(open_ones)
    told = f"{len(done)} of {len(open_ones)} lines are corrected, {len(right)} are right"
    if len(right) == len(wanted):
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, 0.9 * len(done) / len(open_ones))


def added(evidence: Evidence) -> CheckResult:
    """The orders that were missing are at the end, the earliest first, and nothing else is."""
    left = _wanted(evidence)
    first = _FIRST + len(left["lines"])
    after = _lines(evidence, before=False)
    found = [after[row] for row in sorted(after) if row >= first]
    right = sum(map(_same, found, left["added"]))
    told = f"{right} of {len(left['added'])} orders are added, {len(found)} lines are new"
    if right == len(left["added"]) == len(found):
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, 0.9 * right / len(left["added"]))


def others_kept(evidence: Evidence) -> CheckResult:
    """Every cell of the other sheet is as it was, and so are the notes of this one."""
    sheet = _wanted(evidence)["sheet"]
    (own,) = evidence.tables_before.rows("sheets_sheet", id=sheet)
    sheets = evidence.tables_before.rows("sheets_sheet", workbook_id=own["workbook_id"])
    before, after = (
        {
            (cell["sheet_id"], cell["row"], cell["col"]): (cell["formula"], cell["value"])
            for one in sheets
            for cell in tables.rows("sheets_cell", sheet_id=one["id"])
            if one["id"] != sheet or cell["col"] not in (1, 2, 3, 4)
        }
        for tables in (evidence.tables_before, evidence.tables_after)
    )
    wrong = [place for place in before | after if before.get(place) != after.get(place)]
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"cells that should have stayed: {wrong[:9]}")
    return CheckResult(CheckStatus.PASS, "all other cells are as they were")


def _wanted(evidence: Evidence) -> dict[str, list[list[object]]]:
    found: dict[str, list[list[object]]] = json.loads(evidence.gold("wanted.json"))
    return found


def _lines(evidence: Evidence, before: bool) -> dict[int, dict[object, object]]:
    tables = evidence.tables_before if before else evidence.tables_after
    lines: dict[int, dict[object, object]] = {}
    for cell in tables.rows("sheets_cell", sheet_id=_wanted(evidence)["sheet"]):
        if isinstance(cell["row"], int):
            lines.setdefault(cell["row"], {})[cell["col"]] = cell["value"]
    return lines


def _same(line: dict[object, object] | None, wanted: Sequence[object]) -> bool:
    if line is None:
        return False
    number, day, total, status = (line.get(column) for column in (1, 2, 3, 4))
    return (
        _is_number(number, wanted[0])
        and str(day)[:10] == wanted[1]
        and _is_number(total, wanted[2])
        and str(status)[:40].strip().lower() == wanted[3]
    )


def _is_number(value: object, wanted: object) -> bool:
    if not isinstance(value, int | float) or not isinstance(wanted, int | float):
        return False
    return abs(value - wanted) < 0.001
