"""Metrics of workbooks: `compare_table`, whose rules are met one after the other."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from agentgym.formats.osworld.metrics import sheets
from agentgym.formats.osworld.metrics.matching import Rule, fits, similarity
from agentgym.formats.osworld.metrics.sheets import Book, read_book

_DIGITS: Final = 4
_FUZZY: Final = 85.0
_MOST_CELLS: Final = 100_000
Pair = tuple[Book, Book | None]
Sheet = tuple[Book, str]


def compare_table(
    result: Path | None, expected: Path | None = None, rules: Sequence[Rule] = ()
) -> float:
    """The workbook meets every rule, most of them beside the expected workbook.

    Raises:
        ValueError: A rule is of an unknown type.
    """
    for rule in rules:
        if rule["type"] not in RULES:
            raise ValueError(f"compare_table knows no rule {rule['type']!r}")
    if result is None:
        return 0.0
    books = read_book(result), read_book(expected) if expected is not None else None
    return float(all(RULES[rule["type"]](books, rule) for rule in rules))


def _sheet(books: Pair, at: int | str) -> Sheet | None:
    """Return the sheet that a rule names, as ``RI0``, ``RNName``, ``EI0``, ``ENName`` or 0."""
    text = f"RI{at}" if isinstance(at, int) else at
    book = {"R": books[0], "E": books[1]}[text[0]]
    if book is None:
        raise ValueError(f"a rule names the sheet {at!r}, but no workbook is expected")
    if text[1] == "N":
        return (book, text[2:]) if text[2:] in book.names else None
    place = int(text[2:])
    return (book, book.names[place]) if place < len(book.names) else None


def _both(books: Pair, rule: Rule, read: Callable[[Book, str], Any]) -> bool:
    """Return whether two sheets are equal in what is read from them."""
    seen = [_sheet(books, rule[key]) for key in ("sheet_idx0", "sheet_idx1")]
    if seen[1] is None:
        raise ValueError(f"the expected sheet {rule['sheet_idx1']!r} is not there")
    if seen[0] is None:
        return False
    return bool(read(*seen[0]) == read(*seen[1]))


def _names(books: Pair, rule: Rule) -> bool:
    return books[1] is not None and books[0].names == books[1].names


def _data(books: Pair, rule: Rule) -> bool:
    digits = rule.get("precision", _DIGITS)
    return _both(books, rule, lambda book, sheet: sheets.grid(book, sheet, digits))


def _print(books: Pair, rule: Rule) -> bool:
    lower = rule.get("ignore_case", False)

    def read(book: Book, sheet: str) -> list[str]:
        lines = book.printed(sheet)
        return [line.lower() for line in lines] if lower else lines

    return _both(books, rule, read)


def _style(books: Pair, rule: Rule) -> bool:
    return _both(books, rule, lambda book, sheet: sheets.styles(book, sheet, rule["props"]))


def _chart(books: Pair, rule: Rule) -> bool:
    names = rule.get("chart_props", ())
    return _both(books, rule, lambda book, sheet: sheets.charts(book, sheet, names))


def _pivot(books: Pair, rule: Rule) -> bool:
    names = rule.get("pivot_props", ())
    return _both(books, rule, lambda book, sheet: sheets.pivots(book, sheet, names))


def _lines(kind: str) -> Callable[[Pair, Rule], bool]:
    def compare(books: Pair, rule: Rule) -> bool:
        names = rule.get("props", ())
        return _both(books, rule, lambda book, sheet: sheets.lines(book, sheet, kind, names))

    return compare


def _zoom(books: Pair, rule: Rule) -> bool:
    found = _sheet(books, rule["sheet_idx"])
    return found is not None and fits(found[0].formulas[found[1]].sheet_view.zoomScale or 100, rule)


def _validation(books: Pair, rule: Rule) -> bool:
    """Each validation of the sheet is one of the described, and there are enough of them."""
    found = _sheet(books, rule["sheet_idx"])
    if found is None:
        return False
    seen = found[0].formulas[found[1]].data_validations.dataValidation
    wanted = rule["dv_props"]

    def described(one: Any) -> bool:
        return any(
            all(
                fits(getattr(one, "sqref" if name == "ranges" else name), each)
                for name, each in props.items()
            )
            for props in wanted
        )

    return len(seen) >= len(wanted) and all(described(one) for one in seen)


def _cell(books: Pair, rule: Rule) -> bool:
    found = _sheet(books, rule["sheet_idx"])
    if found is None:
        return False
    book, sheet = found
    cell = book.formulas[sheet][rule["coordinate"]]

    def part(name: str) -> Any:
        return (
            book.value(sheet, rule["coordinate"]) if name == "value" else sheets.style(name, cell)
        )

    return all(fits(part(name), each) for name, each in rule["props"].items())


# --- ranges whose cells are compared as texts ---


def _fuzzy(books: Pair, rule: Rule) -> bool:
    seen, wanted = (_sheet(books, rule[key]) for key in ("sheet_idx0", "sheet_idx1"))
    if wanted is None:
        raise ValueError(f"the expected sheet {rule['sheet_idx1']!r} is not there")
    if seen is None:
        return False
    return all(
        _near(_text(seen, at, part), _text(wanted, at, part), part)
        for part in rule["rules"]
        for at in _cells(part["range"])
    )


def _cells(ranges: Sequence[str]) -> list[str]:
    from openpyxl.utils import get_column_letter, range_boundaries

    found = []
    for one in ranges:
        left, top, right, bottom = range_boundaries(one)
        if (right - left + 1) * (bottom - top + 1) > _MOST_CELLS:
            raise ValueError(f"the range {one} has more than {_MOST_CELLS} cells")
        for row in range(top, bottom + 1):
            found += [f"{get_column_letter(at)}{row}" for at in range(left, right + 1)]
    return found


def _text(sheet: Sheet, at: str, part: Mapping[str, Any]) -> str:
    text = str(sheet[0].value(sheet[1], at))
    for old, new in part.get("normalization", ()):
        text = text.replace(old, new)
    if "trim_leadings" in part:
        text = text.lstrip(part["trim_leadings"])
    if "trim_trailings" in part:
        text = text.rstrip(part["trim_trailings"])
    text = "".join(letter for letter in text if letter not in part.get("ignore_chars", ""))
    return text.lower() if part.get("ignore_case") else text


def _near(seen: str, wanted: str, part: Mapping[str, Any]) -> bool:
    if part["type"] == "includes":
        return wanted in seen
    if part["type"] == "included_by":
        return seen in wanted
    if part["type"] == "fuzzy_match":
        return 100 * similarity(seen, wanted) >= float(part.get("threshold", _FUZZY))
    if part["type"] == "exact_match":
        return seen == wanted
    raise ValueError(f"sheet_fuzzy knows no type {part['type']!r}")


RULES: Final[Mapping[str, Callable[[Pair, Rule], bool]]] = {
    "sheet_name": _names,
    "sheet_data": _data,
    "sheet_print": _print,
    "sheet_fuzzy": _fuzzy,
    "style": _style,
    "chart": _chart,
    "pivot_table": _pivot,
    "freeze": lambda books, rule: _both(books, rule, sheets.frozen),
    "filter": lambda books, rule: _both(books, rule, sheets.filters),
    "zoom": _zoom,
    "data_validation": _validation,
    "row_props": _lines("row"),
    "col_props": _lines("column"),
    "check_cell": _cell,
}
"""The rules of `compare_table`, by the type of the rule."""


# --- one task's own ---

_CITIES: Final = "C2:C22"


def compare_conference_city_in_order(result: Path | None, rules: Rule) -> float:
    """The cities of a column contain the expected names in order, in any case and spelling.

    A cell that contains the name of another city as well is wrong.
    """
    if result is None:
        return 0.0
    book = read_book(result)
    seen = [_letters(cell.value) for (cell,) in book.values.active[_CITIES]]
    wanted = rules["expected"]
    if len(wanted) < len(seen):
        return 0.0
    choices = [
        [_letters(one)] if isinstance(one, str) else list(map(_letters, one)) for one in wanted
    ]
    every = {name for names in choices for name in names if name}
    return float(
        all(_names_one(city, names, every) for city, names in zip(seen, choices, strict=False))
    )


def _names_one(city: str, names: Sequence[str], every: Collection[str]) -> bool:
    others = (one for one in every if not any(one in name for name in names))
    named_too = any(f" {other} " in f" {city} " for other in others)
    return any(name in city for name in names) and not named_too


def _letters(value: object) -> str:
    plain = unicodedata.normalize("NFKD", str(value or "").lower())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join("".join(letter if letter.isalnum() else " " for letter in plain).split())
