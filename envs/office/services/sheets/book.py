"""A workbook in memory: its cells, and their values anew after a change.

Formulas are worked out in the order of what they need (Kahn's topological sort). Those on a
circle, or between two, come to ``#CIRCULAR!``; the branch of an IF that is not taken counts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, TypeAlias

from agentgym.services import Service, ServiceError

from .evaluation import CIRCULAR, MAX_COLUMN, MAX_ROW, Block, CellError, Look, Value, evaluate
from .formula import MAX_LENGTH, Area, FormulaError, Node, areas, column_letters, parse, write
from .moving import copied, shifted

MAX_CELLS = 10_000
MAX_FORMULAS = 1_000

Address: TypeAlias = tuple[int, int, int]
"""Number of the sheet, row and column."""

Columns: TypeAlias = dict[int, dict[int, list[int]]]
"""The rows of some cells, in order, by sheet and column."""

Typed: TypeAlias = str | int | float | bool | None
"""A value typed into a cell, or shown by it."""


def stored(value: Value) -> tuple[str, float | int | str]:
    """Return the kind of a value and its stored form."""
    if isinstance(value, bool):
        return "truth", int(value)
    if isinstance(value, date):
        return "date", value.isoformat()
    if isinstance(value, CellError):
        return "error", value.code
    if isinstance(value, str):
        return "text", value
    assert isinstance(value, float)
    return "number", value


def kept(kind: str, value: Any) -> Value:
    """Return the value that a cell keeps."""
    if kind == "truth":
        return bool(value)
    if kind == "date":
        return date.fromisoformat(value)
    if kind == "error":
        return CellError(value)
    return float(value) if kind == "number" else str(value)


def shown(value: Value) -> Typed:
    """Return what a cell shows: whole numbers without a fraction, dates as texts."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e15 else value
    if isinstance(value, date):
        return value.isoformat()
    return value.code if isinstance(value, CellError) else value


def typed(value: Typed) -> tuple[Value, str | None]:
    """Return the value and the formula that were typed into a cell.

    Raises:
        FormulaError: It begins with ``=`` and is no formula.
    """
    if isinstance(value, str):
        if value.startswith("="):
            parse(value)
            return None, value
        if value.startswith("'"):
            return value[1:], None
        try:
            return (date.fromisoformat(value) if value[4:5] == "-" else value or None), None
        except ValueError:
            return value, None
    if value is None or isinstance(value, bool):
        return value, None
    try:
        return float(value) + 0.0, None
    except OverflowError:
        raise FormulaError("a number is too large for a cell") from None


class Book:
    """The cells of one workbook.

    Args:
        service: Service whose tables hold the cells.
        workbook: Number of the workbook.
    """

    def __init__(self, service: Service, workbook: int) -> None:
        self._db, self._spend = service.db, service.spend
        sheets = self._db.all(
            "SELECT id, name FROM sheets_sheet WHERE workbook_id = ? ORDER BY position", workbook
        )
        self.names: dict[int, str] = {row["id"]: row["name"] for row in sheets}
        self._numbers = {row["name"].casefold(): row["id"] for row in sheets}
        self.values: dict[Address, Value] = {}
        self.formulas: dict[Address, str] = {}
        self._before: dict[Address, tuple[str | None, str, Any]] = {}
        for row in self._db.execute(
            "SELECT c.sheet_id, c.row, c.col, c.formula, c.kind, c.value FROM sheets_cell c"
            " JOIN sheets_sheet s ON s.id = c.sheet_id WHERE s.workbook_id = ?",
            workbook,
        ):
            place = row[:3]
            self.values[place] = kept(*row[4:])
            self._before[place] = row[3:]
            if row[3] is not None:
                self.formulas[place] = row[3]

    def sheet(self, name: str, field: str = "sheet") -> int:
        """Return the number of a sheet by its name, in any case.

        Raises:
            ServiceError: The workbook has no such sheet.
        """
        if name.casefold() not in self._numbers:
            known = ", ".join(self.names.values())
            raise ServiceError("not_found", f"no sheet {name[:80]!r}; there is: {known}", field)
        return self._numbers[name.casefold()]

    def extent(self, sheet: int) -> tuple[int, int]:
        """Return the last used row and the last used column, 0 if the sheet is empty."""
        used = [place for place in self.values if place[0] == sheet]
        return max((p[1] for p in used), default=0), max((p[2] for p in used), default=0)

    def _extents(self) -> dict[int, tuple[int, int]]:
        """Return the extent of every sheet, found in one pass."""
        found = dict.fromkeys(self.names, (0, 0))
        for number, row, column in self.values:
            last_row, last_column = found[number]
            if row > last_row or column > last_column:
                found[number] = max(row, last_row), max(column, last_column)
        return found

    def put(self, place: Address, value: Typed) -> None:
        """Type a value into a cell; None empties it.

        Raises:
            FormulaError: The text begins as a formula, but is not valid.
        """
        result, formula = typed(value)
        self.values.pop(place, None)
        self.formulas.pop(place, None)
        if formula is not None:
            self.formulas[place] = formula
        if formula is not None or result is not None:
            self.values[place] = result

    def rewrite(self, change: Callable[[Address, Node], Node]) -> None:
        """Change formulas; those that stay the same keep how they were typed.

        Raises:
            ServiceError: One would become too long.
        """
        for place, formula in self.formulas.items():
            tree = parse(formula)
            changed = change(place, tree)
            if changed != tree:
                self.formulas[place] = text = write(changed)
                if len(text) > MAX_LENGTH:
                    raise ServiceError("conflict", f"{self.named(place)} would become too long")

    def shift(self, sheet: int, row: int, count: int) -> None:
        """Insert empty rows above a row, or delete so many from it on if less than 0.

        Raises:
            ServiceError: Something would be pushed off the sheet.
        """
        if count > 0 and self.extent(sheet)[0] >= row and self.extent(sheet)[0] + count > MAX_ROW:
            raise ServiceError("conflict", f"the last rows would be pushed past {MAX_ROW}", "count")

        def moved(cells: dict[Address, Any]) -> dict[Address, Any]:
            return {
                (place[0], place[1] + count, place[2])
                if place[0] == sheet and place[1] >= row
                else place: cell
                for place, cell in cells.items()
                if not (place[0] == sheet and row <= place[1] < row - count)
            }

        self.values, self.formulas = moved(self.values), moved(self.formulas)
        name = self.names[sheet]
        self.rewrite(lambda at, tree: shifted(tree, self.names[at[0]], name, row, count))

    def fill_down(self, sheet: int, area: Area) -> None:
        """Copy the first row of an area into the others.

        Raises:
            FormulaError: A formula would become too long.
        """
        for column in range(area.left, area.right + 1):
            first = sheet, area.top, column
            for step in range(1, area.bottom - area.top + 1):
                place = sheet, area.top + step, column
                self.values.pop(place, None)
                self.formulas.pop(place, None)
                if first in self.formulas:
                    self.put(place, write(copied(parse(self.formulas[first]), step, 0)))
                elif first in self.values:
                    self.values[place] = self.values[first]

    def recalculate(self) -> list[Address]:
        """Evaluate every formula, and return those on a circular reference."""
        trees = {place: parse(formula) for place, formula in self.formulas.items()}
        index = _by_column(trees)
        needs = {place: self._needs(place, tree, index) for place, tree in trees.items()}
        order, circular = _sorted(needs)
        self.values.update(dict.fromkeys(circular, CIRCULAR))
        extents = self._extents()
        looks = {sheet: self._look(sheet, extents) for sheet in self.names}
        for place in order:
            self.values[place] = evaluate(trees[place], looks[place[0]])
        return sorted(circular)

    def look(self, sheet: int) -> Look:
        """Return where a formula in a sheet finds the values of cells."""
        return self._look(sheet, self._extents())

    def save(self) -> bool:
        """Write changes into the tables, and return whether there were any.

        Raises:
            ServiceError: The workbook has become too large.
        """
        for count, most, what in (
            (len(self.values), MAX_CELLS, "cells"),
            (len(self.formulas), MAX_FORMULAS, "formulas"),
        ):
            if count > most:
                raise ServiceError("conflict", f"a workbook has at most {most} {what}, not {count}")
        changed = False
        for place in sorted(self._before.keys() - self.values.keys()):
            self._db.execute(
                "DELETE FROM sheets_cell WHERE sheet_id = ? AND row = ? AND col = ?", *place
            )
            changed = True
        for place in sorted(self.values):
            row = (self.formulas.get(place), *stored(self.values[place]))
            if self._before.get(place) != row:
                self._db.execute(
                    "INSERT INTO sheets_cell (sheet_id, row, col, formula, kind, value)"
                    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (sheet_id, row, col) DO UPDATE SET"
                    " formula = excluded.formula, kind = excluded.kind, value = excluded.value",
                    *place,
                    *row,
                )
                changed = True
        return changed

    def named(self, place: Address) -> str:
        """Return a cell's name with its sheet."""
        return f"{self.names[place[0]]}!{column_letters(place[2])}{place[1]}"

    def _look(self, sheet: int, extents: dict[int, tuple[int, int]]) -> Look:
        def look(area: Area) -> Block | None:
            number = self._of(area, sheet)
            if number is None:
                return None
            last_row, last_column = extents[number]
            rows = range(area.top, min(area.bottom, last_row) + 1)
            columns = range(area.left, min(area.right, last_column) + 1)
            self._spend(max(len(rows) * len(columns), 1))
            return [[self.values.get((number, row, column)) for column in columns] for row in rows]

        return look

    def _of(self, area: Area, sheet: int) -> int | None:
        return sheet if area.sheet is None else self._numbers.get(area.sheet.casefold())

    def _needs(self, place: Address, tree: Node, index: Columns) -> set[Address]:
        """Return the formulas that a formula reads, which are found column by column."""
        found: set[Address] = set()
        for area in areas(tree):
            sheet = self._of(area, place[0])
            if sheet is None:
                continue
            columns = index.get(sheet, {})
            inside = range(area.left, area.right + 1)
            self._spend(1)
            for column in inside if len(inside) < len(columns) else columns:
                rows = columns.get(column, ())
                if column in inside and rows:
                    first, last = bisect_left(rows, area.top), bisect_right(rows, area.bottom)
                    self._spend(1 + last - first)
                    found.update((sheet, row, column) for row in rows[first:last])
        return found


def _by_column(trees: Iterable[Address]) -> Columns:
    """Return the rows that have formulas, in order, by sheet and column."""
    index: Columns = defaultdict(lambda: defaultdict(list))
    for sheet, row, column in sorted(trees):
        index[sheet][column].append(row)
    return index


def _sorted(needs: dict[Address, set[Address]]) -> tuple[list[Address], set[Address]]:
    """Return an order in which every need comes first, and the formulas on a circle."""
    order, left = _peeled(needs)
    wanted: dict[Address, set[Address]] = {place: set() for place in left}
    for place in left:
        for other in needs[place] & left:
            wanted[other].add(place)
    # What only hangs on a circle is wanted by nothing that stays; it is worked out last.
    hanging, circular = _peeled(wanted)
    return order + hanging[::-1], circular


def _peeled(needs: dict[Address, set[Address]]) -> tuple[list[Address], set[Address]]:
    """Take off what needs nothing that is left, as long as there is any."""
    users = defaultdict(list)
    for place, needed in needs.items():
        for other in needed:
            users[other].append(place)
    open_needs = {place: len(needed) for place, needed in needs.items()}
    order = sorted(place for place, count in open_needs.items() if not count)
    for place in order:
        for user in users[place]:
            open_needs[user] -= 1
            if not open_needs[user]:
                order.append(user)
    return order, needs.keys() - set(order)


def in_bounds(top: int, left: int, rows: int, columns: int) -> bool:
    """Return whether a rectangle of cells lies on a sheet."""
    return top + rows - 1 <= MAX_ROW and left + columns - 1 <= MAX_COLUMN
