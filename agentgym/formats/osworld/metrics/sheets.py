"""Parts of a workbook that metrics read: cells, printed cells, styles, charts, filters, pivots.

Formulas are not computed: a cell has the value that the last program stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Final

from agentgym.formats.osworld.metrics.matching import read_lines

_EMPTY: Final = frozenset(
    (
        "",
        "#N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "None",
        "n/a",
        "nan",
        "null",
    )
)
"""Texts that count as an empty cell, as spreadsheet libraries read them."""

_MOST_CELLS: Final = 500_000
_NO_VALUE: Final = frozenset({"font_name", "font_color", "font_bold", "font_italic"}) | {
    "font_family",
    "font_underline",
    "font_size",
    "hyperlink",
}


@dataclass(frozen=True)
class Book:
    """A workbook.

    Attributes:
        path: Its file.
        formulas: The workbook with formulas and styles, of openpyxl.
        values: The workbook with stored values, of openpyxl.
    """

    path: Path
    formulas: Any
    values: Any

    @property
    def names(self) -> list[str]:
        """Names of its sheets."""
        return list(self.formulas.sheetnames)

    def value(self, sheet: str, at: str) -> Any:
        """Return the stored value of a cell, an integer as a float."""
        seen = self.values[sheet][at].value
        return float(seen) if isinstance(seen, int) and not isinstance(seen, bool) else seen

    def printed(self, sheet: str) -> list[str]:
        """Return the sheet's lines as another program wrote them beside the file.

        Raises:
            FileNotFoundError: There is no such file.
        """
        lines = [
            line.strip()
            for line in read_lines(self.path.with_name(f"{self.path.stem}-{sheet}.csv"))
        ]
        while lines and not lines[-1]:
            lines.pop()
        return lines


def read_book(path: Path) -> Book:
    """Return a workbook.

    Raises:
        Exception: It is no workbook.
    """
    from openpyxl import load_workbook

    return Book(path, load_workbook(path), load_workbook(path, data_only=True))


def grid(book: Book, sheet: str, digits: int) -> list[list[Any]]:
    """Return the values of a sheet without empty rows and columns at its ends."""
    seen = book.values[sheet]
    if seen.max_row * seen.max_column > _MOST_CELLS:
        raise ValueError(f"sheet {sheet!r} has more than {_MOST_CELLS} cells")
    rows = [[_plain(value, digits) for value in row] for row in seen.iter_rows(values_only=True)]
    while rows and not any(value is not None for value in rows[-1]):
        rows.pop()
    width = max(
        (at + 1 for row in rows for at, one in enumerate(row) if one is not None), default=0
    )
    return [row[:width] for row in rows]


def _plain(value: Any, digits: int) -> Any:
    """Return a value such that equal ones are equal: a kind, and a number rounded."""
    if isinstance(value, str):
        empty = value in _EMPTY or (value.startswith("#") and value.endswith(("!", "?")))
        return None if empty else ("text", value)
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, int | float):
        return None if math.isnan(value) else ("number", round(float(value), digits))
    if isinstance(value, datetime | date | time):
        return ("time", value.isoformat())
    return value if value is None else ("other", str(value))


# --- styles ---


def style(name: str, cell: Any, differential: Any = None) -> Any:
    """Return one part of the style of a cell, or of the style that a condition gives it.

    Raises:
        ValueError: There is no such part.
    """
    if name not in _STYLES:
        raise ValueError(f"there is no style {name!r}")
    if name in _NO_VALUE and cell.value is None:
        return None
    try:
        return _STYLES[name](cell, differential)
    except AttributeError:
        return None


def _number_format(cell: Any, differential: Any) -> Any:
    if cell.value is None or cell.data_type != "n":
        return None
    return cell.number_format if differential is None else differential.numFmt.formatCode


def _fill(cell: Any, differential: Any) -> Any:
    return cell.fill.fgColor.rgb if differential is None else differential.fill.bgColor.rgb


def _merged(cell: Any, differential: Any) -> bool:
    return type(cell).__name__ == "MergedCell"


def _font(part: str) -> Callable[[Any, Any], Any]:
    return lambda cell, differential: getattr((differential or cell).font, part)


_STYLES: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "number_format": _number_format,
    "font_name": _font("name"),
    "font_family": _font("family"),
    "font_bold": _font("bold"),
    "font_italic": _font("italic"),
    "font_underline": _font("underline"),
    "font_size": _font("size"),
    "font_color": lambda cell, differential: (differential or cell).font.color.rgb,
    "fill_type": lambda cell, differential: (differential or cell).fill.tagname,
    "bgcolor": _fill,
    "fgcolor": _fill,
    "hyperlink": lambda cell, differential: getattr(cell.hyperlink, "target", ""),
    "merge": _merged,
}


def styles(book: Book, sheet: str, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return parts of the style of each cell, conditions on cell values applied.

    Only conditions that compare with constants are applied; a formula is not computed.
    """
    seen = book.formulas[sheet]
    if seen.max_row * seen.max_column > _MOST_CELLS:
        raise ValueError(f"sheet {sheet!r} has more than {_MOST_CELLS} cells")
    found = {
        cell.coordinate: [style(name, cell) for name in names]
        for column in seen.iter_cols()
        for cell in column
    }
    for cell, differential in _conditional(book, sheet):
        found[cell.coordinate] = [style(name, cell, differential) for name in names]
    # A cell without anything is the same whether the file lists it or not.
    return {at: parts for at, parts in found.items() if any(part not in _NOTHING for part in parts)}


_NOTHING: Final = (None, False, "", "00000000", "patternFill", "General")


def _conditional(book: Book, sheet: str) -> Iterator[tuple[Any, Any]]:
    seen, values = book.formulas[sheet], book.values[sheet]
    for area in seen.conditional_formatting:
        for rule in area.rules:
            wanted = [_constant(text) for text in rule.formula]
            if rule.type != "cellIs" or None in wanted or not wanted:
                continue
            for part in area.cells.ranges:
                bottom = min(part.max_row, seen.max_row)
                right = min(part.max_col, seen.max_column)
                for row in range(part.min_row, bottom + 1):
                    for column in range(part.min_col, right + 1):
                        if _holds(rule.operator, values.cell(row, column).value, wanted):
                            yield seen.cell(row, column), rule.dxf


def _constant(text: str) -> Any:
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('""', '"')
    try:
        return float(text)
    except ValueError:
        return None


def _holds(operator: str, value: Any, wanted: Sequence[Any]) -> bool:
    if value is None:
        return False
    low, high = wanted[0], wanted[-1]
    try:
        low, high = min(low, high), max(low, high)
        comparisons: dict[str, bool] = {
            "equal": value == low,
            "notEqual": value != low,
            "lessThan": value < low,
            "lessThanOrEqual": value <= low,
            "greaterThan": value > low,
            "greaterThanOrEqual": value >= low,
            "between": low <= value <= high,
            "notBetween": not low <= value <= high,
        }
    except TypeError:
        return False
    return comparisons.get(operator, False)


# --- charts, rows, filters, pivot tables ---


def charts(book: Book, sheet: str, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return properties of the charts of a sheet, by what they draw."""
    return {
        _drawn(one): {name: _chart(one, name) for name in names}
        for one in book.formulas[sheet]._charts
    }


def _drawn(chart: Any) -> str:
    return ";".join(f"{_reference(one.val)},{_reference(one.cat)}" for one in chart.series)


def _reference(part: Any) -> str:
    for kind in ("numRef", "strRef"):
        found = getattr(part, kind, None)
        if found is not None:
            return str(found.f)
    return ""


def _chart(chart: Any, name: str) -> Any:
    if name == "type":
        return chart.tagname
    if name == "direction":
        return getattr(chart, "barDir", None)
    if name == "legend":
        return chart.legend and chart.legend.position
    if name in ("width", "height"):
        return getattr(chart, name)
    if name == "anchor":
        start, end = chart.anchor._from, getattr(chart.anchor, "to", None)
        return [start.col, start.row, end and end.col, end and end.row]
    if name == "title":
        return _title(chart.title)
    if name in ("xtitle", "ytitle", "ztitle"):
        return _title(getattr(getattr(chart, f"{name[0]}_axis", None), "title", None))
    raise ValueError(f"a chart has no property {name!r}")


def _title(title: Any) -> str | None:
    try:
        return "".join(run.t for part in title.tx.rich.p for run in part.r or ())
    except (AttributeError, TypeError):
        return None


def lines(book: Book, sheet: str, kind: str, names: Sequence[str]) -> dict[Any, dict[str, Any]]:
    """Return properties of the rows or columns of a sheet; those that have none are left out."""
    known = getattr(book.formulas[sheet], f"{kind}_dimensions")
    found = {key: {name: getattr(one, name) for name in names} for key, one in known.items()}
    return {key: parts for key, parts in found.items() if any(parts.values())}


def frozen(book: Book, sheet: str) -> tuple[Any, ...]:
    """Return how many columns and rows of a sheet stay in view."""
    pane = book.formulas[sheet].sheet_view.pane
    if pane is None or not str(pane.state or "").startswith("frozen"):
        return ()
    return int(pane.xSplit or 0), int(pane.ySplit or 0)


def filters(book: Book, sheet: str) -> dict[str, Any]:
    """Return the filter of a sheet: its range, and what each column shows."""
    seen = book.formulas[sheet].auto_filter
    columns = []
    for one in seen.filterColumn:
        plain = one.filters and (bool(one.filters.blank), sorted(one.filters.filter))
        own = one.customFilters
        custom = own and (bool(own._and), sorted((c.operator, c.val) for c in own.customFilter))
        columns.append((one.colId, plain, custom))
    return {"ref": seen.ref, "columns": sorted(columns, key=lambda column: column[0])}


def pivots(book: Book, sheet: str, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return properties of the pivot tables of a sheet, by the range they summarise."""
    found = {}
    for one in book.formulas[sheet]._pivots:
        source = one.cache.cacheSource.worksheetSource
        shift = next((at for at, field in enumerate(one.pivotFields) if _items(field)), 0)
        key = f"{source.sheet}!{source.ref}"
        found[key] = {name: _pivot(one, name, shift) for name in names if name != "ordered"}
    return found


def _items(field: Any) -> list[tuple[Any, int]]:
    return [(item.h, item.x) for item in field.items if item.x is not None]


def _pivot(pivot: Any, name: str, shift: int) -> Any:
    if name == "col_fields":
        return [one.x - shift for one in pivot.colFields]
    if name == "row_fields":
        return [one.x - shift for one in pivot.rowFields]
    if name == "data_fields":
        return [(one.fld - shift, one.subtotal, one.showDataAs) for one in pivot.dataFields]
    if name == "filter":
        return sorted(one.fld - shift for one in pivot.pageFields)
    if name == "selection":
        return [sorted(_items(field), key=repr) for field in pivot.pivotFields]
    plain = {
        "name": "name",
        "show_total": "visualTotals",
        "show_empty_row": "showEmptyRow",
        "show_empty_col": "showEmptyCol",
        "show_headers": "showHeaders",
    }
    if name not in plain:
        raise ValueError(f"a pivot table has no property {name!r}")
    return getattr(pivot, plain[name])
