"""Rules of the spreadsheets: versions, cell references, saving changes."""

from __future__ import annotations

from typing import Any

from agentgym.services import Service, ServiceError

from .book import Address, Book, Typed, in_bounds
from .evaluation import CellError
from .formula import Area, FormulaError, parse_area, write_area
from .shapes import Problem, Sheet, Workbook, Written


class WorkbookRules(Service):
    """The rules that all tools of the spreadsheets share."""

    def _me(self) -> str:
        mail: str = self.db.value("SELECT email FROM contacts_person WHERE id = 1")
        return mail

    def _author(self) -> str:
        return self.actor if self.unlimited else self._me()

    def _workbook(self, number: int) -> dict[str, Any]:
        row = self.db.one("SELECT * FROM sheets_workbook WHERE id = ?", number)
        if row is None:
            raise ServiceError(
                "not_found", f"no workbook {number}; list_workbooks finds them", "workbook"
            )
        return row

    def _unchanged(self, number: int, seen_version: int | None) -> None:
        version = self._workbook(number)["version"]
        if seen_version is not None and seen_version != version:
            raise ServiceError(
                "conflict",
                f"workbook {number} has version {version}, not {seen_version}; read it again",
                "seen_version",
            )

    def _area(self, cells: str, field: str = "cells") -> Area:
        try:
            area = parse_area(cells)
        except FormulaError as error:
            raise ServiceError("invalid", str(error), field) from None
        if not in_bounds(area.bottom, area.right, 1, 1):
            raise ServiceError("invalid", f"{cells} is off the sheet, which ends at ZZ10000", field)
        return area

    def _free_name(self, book: Book, name: str, number: int | None = None) -> None:
        taken = [other for other in book.names if other != number]
        if any(book.names[other].casefold() == name.casefold() for other in taken):
            raise ServiceError("conflict", f"there is a sheet {name!r} already", "name")

    def _put(
        self, workbook: int, book: Book, sheet: int, at: tuple[int, int], rows: list[list[Typed]]
    ) -> Written:
        top, left = at
        width = max(map(len, rows))
        if not in_bounds(top, left, len(rows), max(width, 1)):
            raise ServiceError("invalid", "the rows go past the end of the sheet, ZZ10000", "rows")
        for line, row in enumerate(rows):
            for step, value in enumerate(row):
                place: Address = (sheet, top + line, left + step)
                try:
                    book.put(place, value)
                except FormulaError as error:
                    raise ServiceError(
                        "invalid", f"{book.named(place)}: {error}", f"rows[{line}][{step}]"
                    ) from None
        ends = Area(None, top, left, top + len(rows) - 1, left + max(width, 1) - 1, False)
        return self._settle(workbook, book, f"{book.names[sheet]}!{write_area(ends)}")

    def _shift(
        self, workbook: int, sheet: str, row: int, count: int, seen_version: int | None
    ) -> Written:
        self._unchanged(workbook, seen_version)
        book = Book(self, workbook)
        number = book.sheet(sheet)
        book.shift(number, row, count)
        last = row + abs(count) - 1
        return self._settle(workbook, book, f"{book.names[number]}!{row}:{last}")

    def _settle(self, workbook: int, book: Book, cells: str, touched: bool = False) -> Written:
        """Evaluate the formulas, save the changes and return their result."""
        circular = book.recalculate()
        if book.save() or touched:
            self.db.execute(
                "UPDATE sheets_workbook SET version = version + 1, updated_at = ?, updated_by = ?"
                " WHERE id = ?",
                self.now,
                self._author(),
                workbook,
            )
        return {
            "workbook": workbook,
            "version": self._workbook(workbook)["version"],
            "cells": cells,
            "circular": [book.named(place) for place in circular],
            "errors": self._problems(book),
        }

    def _problems(self, book: Book) -> list[Problem]:
        return [
            {"cell": book.named(p), "formula": book.formulas.get(p), "error": value.code}
            for p, value in sorted(book.values.items(), key=lambda item: item[0])
            if isinstance(value, CellError)
        ]

    def _whole(self, number: int) -> Workbook:
        row, book = self._workbook(number), Book(self, number)
        sheets: list[Sheet] = []
        for sheet, name in book.names.items():
            last_row, last_column = book.extent(sheet)
            used = Area(None, 1, 1, last_row, last_column, False)
            count = sum(place[0] == sheet for place in book.formulas)
            sheets.append(
                {"name": name, "used": write_area(used) if last_row else None, "formulas": count}
            )
        return {**row, "sheets": sheets}
