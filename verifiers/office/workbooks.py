"""Checks of workbooks (xlsx, xlsm)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify.values import Comparison, brief, is_number, result

from .extraction import extract
from .ranges import CELL, corners, extent, lies_in

_NEAR = 1e-12
_EMPTY: tuple[Any, dict[str, Any]] = ("", {})
"""Contents and style of an empty cell."""
_CHART = ("type", "title", "series", "categories")
_STYLES: Mapping[str, type] = {
    "bold": bool,
    "italic": bool,
    "number_format": str,
    "horizontal": str,
    "fill": str,
    "colour": str,
}


def sheets(evidence: Evidence, path: str, names: Sequence[str]) -> CheckResult:
    """A workbook has these sheets, in this order, including hidden ones.

    Channel: state.

    Example:
        use = "office.sheets"
        with = { path = "/srv/report.xlsx", names = ["Summary", "Data"] }
    """
    if isinstance(names, str) or not names:
        raise VerifierError(f"names: expected a list of names, got {names!r}")
    seen = extract(evidence.after, path, "openpyxl", what="sheets")
    return result(seen == list(names), f"{path}: sheets {seen[:8]}, expected {list(names)[:8]}")


def cells(
    evidence: Evidence,
    path: str,
    sheet: str,
    at: str,
    rows: Sequence[Sequence[Any]] = (),
    tolerance: float = 0.0,
    any_order: bool = False,
    gold: str = "",
) -> CheckResult:
    """The cells of a range hold these values.

    Channel: state. An empty cell is "", a date ISO 8601 text. A formula has the value that the last
    program stored. If none is stored, arithmetic and common functions such as SUM are computed; any
    other formula is empty then.

    Example:
        use = "office.cells"
        with = { path = "/srv/r.xlsx", sheet = "Data", at = "A2:B2", rows = [["ada", 3]] }

    Args:
        evidence: Evidence of the episode.
        path: The workbook.
        sheet: Name of the sheet.
        at: A range or one cell.
        rows: The values, row by row; or leave them out and name a gold file.
        tolerance: Largest absolute difference of two equal numbers.
        any_order: Accept the rows in any order.
        gold: Name of the gold file that holds the rows as JSON.
    """
    compare, (wide, high) = Comparison(tolerance, any_order), extent(at)
    if bool(gold) == bool(rows):
        raise VerifierError("cells: expected either rows or gold")
    rows = json.loads(evidence.gold(gold)) if gold else rows
    if len(rows) != high or any(isinstance(row, str) or len(row) != wide for row in rows):
        raise VerifierError(f"rows: expected {high} rows of {wide} cells, as {at} has")
    seen = extract(evidence.after, path, "openpyxl", what="values", sheet=sheet, at=at)
    fault = compare.difference(seen, [list(row) for row in rows])
    return result(not fault, f"{path}: {sheet}!{at}: {fault or 'as expected'}")


def formulas(
    evidence: Evidence, path: str, sheet: str, formulas: Mapping[str, str | Sequence[str]]
) -> CheckResult:
    """Cells hold these formulas; case, spaces and ``$`` outside quotes do not count.

    Channel: state. A formula with an equal value but another text, ``=A1+A2`` for ``=SUM(A1:A2)``,
    is different. "" demands a cell without a formula: a value, or nothing. A list demands one of
    several formulas.

    Example:
        use = "office.formulas"
        with = { path = "/srv/r.xlsx", sheet = "Data", formulas = { B4 = "=SUM(B2:B3)" } }
    """
    wanted = {cell: [one] if isinstance(one, str) else list(one) for cell, one in formulas.items()}
    for cell, texts in wanted.items():
        if not CELL.fullmatch(cell) or not all(isinstance(text, str) for text in texts):
            raise VerifierError(f"formulas: expected text by cell, got {cell!r} = {texts!r}")
    seen = extract(evidence.after, path, "openpyxl", what="formulas", sheet=sheet, at=list(wanted))
    for cell, texts in wanted.items():
        if _unpinned(seen[cell]) not in map(_unpinned, texts):
            said = f"{brief(seen[cell])}, expected {' or '.join(map(repr, texts))}"
            return result(False, f"{path}: {sheet}!{cell}: {said}")
    return result(True, f"{path}: {len(formulas)} formulas as expected")


def style(
    evidence: Evidence, path: str, sheet: str, at: str, style: Mapping[str, Any]
) -> CheckResult:
    """Every cell of a range has these parts of a style.

    Channel: state. Colours count only if they are given as RGB, not as theme colours. Conditional
    formats are ignored.

    Example:
        use = "office.style"
        with = { path = "/srv/r.xlsx", sheet = "Data", at = "A1:B1", style = { bold = true } }

    Args:
        evidence: Evidence of the episode.
        path: The workbook.
        sheet: Name of the sheet.
        at: A range or one cell.
        style: Any of bold, italic, number_format ("0.00"), horizontal ("center"), fill and colour
            ("#rrggbb").
    """
    extent(at)
    for name, value in style.items():
        if name not in _STYLES or not isinstance(value, _STYLES[name]):
            raise VerifierError(
                f"style.{name}: expected one of {', '.join(_STYLES)}, got {value!r}"
            )
    for cell in extract(evidence.after, path, "openpyxl", what="style", sheet=sheet, at=at):
        for name, value in style.items():
            if cell[name] != (value.lower() if name in ("fill", "colour") else value):
                said = f"{name} is {cell[name]!r}, expected {value!r}"
                return result(False, f"{path}: {sheet}!{cell['cell']}: {said}")
    return result(True, f"{path}: {sheet}!{at}: style as expected")


def rest_kept(
    evidence: Evidence,
    path: str,
    but: Mapping[str, Sequence[str]],
    styled: Mapping[str, Sequence[str]] = {},
) -> CheckResult:
    """A workbook has the sheets of the start, and their cells are what they were, but for ranges.

    Channel: state. Formulas are compared as they are written, other cells by value. A cell that is
    not empty also has to stay bold, italic and filled as it was, and a number to show as many
    decimals; other styles do not count. New sheets must be named in `but`.

    Example:
        use = "office.rest_kept"
        with = { path = "/srv/r.xlsx", but = { Data = ["C2:C9", "E1"] } }

    Args:
        evidence: Evidence of the episode.
        path: The workbook.
        but: By the name of a sheet, the ranges that may hold anything.
        styled: Likewise, further ranges that may have any style.
    """
    for option, given in (("but", but), ("styled", styled)):
        for name, ranges in given.items():
            if isinstance(ranges, str):
                raise VerifierError(f"{option}.{name}: expected a list of ranges, got {ranges!r}")
            for one in ranges:
                extent(one)
    before, after = (
        extract(tree, path, "openpyxl", what="contents")
        for tree in (evidence.before, evidence.after)
    )
    if [n for n in after if n in before or n not in but] != [n for n in before if n in after]:
        return result(False, f"{path}: sheets {list(after)[:8]}, at the start {list(before)[:8]}")
    if gone := [name for name in before if name not in after]:
        return result(False, f"{path}: there is no sheet {gone[0]!r} any more")
    for name, cells_before in before.items():
        free = [corners(one) for one in but.get(name, ())]
        styles_free = [corners(one) for one in styled.get(name, ())]
        for cell in {**cells_before, **after[name]}:
            if any(lies_in(cell, area) for area in free):
                continue
            was, now = cells_before.get(cell, _EMPTY), after[name].get(cell, _EMPTY)
            fault = "" if _alike(was[0], now[0]) else f"holds {brief(now[0])}, held {brief(was[0])}"
            if not any(lies_in(cell, area) for area in styles_free):
                fault = fault or _restyled(was[1], now[1])
            if fault:
                return result(False, f"{path}: {name}!{cell}: {fault}")
    return result(True, f"{path}: everything else is as it was")


def charts(
    evidence: Evidence, path: str, sheet: str, charts: Sequence[Mapping[str, Any]]
) -> CheckResult:
    """A sheet has these charts and no others, in any order.

    Channel: state. Where a chart lies and how large it is does not count, nor do colours.

    Example:
        use = "office.charts"
        with = { path = "/srv/r.xlsx", sheet = "Data", charts = [{ type = "column" }] }

    Args:
        evidence: Evidence of the episode.
        path: The workbook.
        sheet: Name of the sheet.
        charts: The parts that are demanded of each: type (column, bar, line, pie, area, scatter),
            title, series and categories (ranges such as "Data!B2:B9", a list for series).
    """
    for one in charts:
        if odd := [name for name in one if name not in _CHART]:
            raise VerifierError(f"charts: expected parts of {', '.join(_CHART)}, got {odd[0]!r}")
    seen = extract(evidence.after, path, "openpyxl", what="charts", sheet=sheet)
    if len(seen) != len(charts):
        return result(False, f"{path}: {sheet} has {len(seen)} charts, expected {len(charts)}")
    left = list(seen)
    for wanted in charts:
        fitting = [one for one in left if all(one[part] == wanted[part] for part in wanted)]
        if not fitting:
            told = "; ".join(f"{part} {brief(left[0][part])}" for part in wanted)
            return result(False, f"{path}: {sheet}: no chart as expected; one has {told}")
        left.remove(fitting[0])
    return result(True, f"{path}: {sheet}: {len(seen)} charts as expected")


def _alike(was: Any, now: Any) -> bool:
    if isinstance(was, str) and isinstance(now, str) and was.startswith("="):
        return _plain(was) == _plain(now)
    # A program may write the last digit of a number otherwise.
    return not Comparison(_NEAR * abs(was) if is_number(was) else 0).difference(now, was)


def _restyled(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return which part of the style of a cell is another one; empty if none is."""
    for part in was.keys() & now.keys():
        if None not in (was[part], now[part]) and was[part] != now[part]:
            return f"{part} is {brief(now[part])}, was {brief(was[part])}"
    return ""


def _plain(formula: str) -> str:
    parts = re.split(r"(\"[^\"]*\"|'[^']*')", formula)
    return "".join(p if n % 2 else "".join(p.split()).upper() for n, p in enumerate(parts))


def _unpinned(formula: str) -> str:
    """Return a formula in plain form without the ``$`` of its references."""
    parts = re.split(r"(\"[^\"]*\"|'[^']*')", _plain(formula))
    return "".join(p if n % 2 else p.replace("$", "") for n, p in enumerate(parts))
