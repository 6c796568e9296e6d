"""Sheets: workbooks with sheets, cells and formulas, worked out anew after every change.

Numbers, truths and texts are typed as JSON has them; a text that is an ISO date becomes a date,
one that begins with ``=`` a formula, and an apostrophe before a text keeps it one.
"""

from __future__ import annotations

import random
from typing import Annotated

from pydantic import Field

from agentgym.services import ServiceError, reads, writes

from .book import Book, kept, shown
from .evaluation import MAX_ROW, evaluate
from .formula import Area, FormulaError, column_letters, parse, write_area
from .moving import renamed
from .rules import WorkbookRules
from .seeding import fill
from .shapes import Cells, Entry, Found, Problem, Workbook, Written

Name = Annotated[str, Field(min_length=1, max_length=200)]
SheetName = Annotated[str, Field(pattern=r"^[\w(][\w ().&+-]{0,29}[\w).]?$")]
CellText = Annotated[str, Field(max_length=2000)]
Row = Annotated[list[CellText | int | float | bool | None], Field(max_length=26)]
Rows = Annotated[list[Row], Field(min_length=1, max_length=100)]
Range = Annotated[str, Field(pattern=r"^[A-Za-z]{1,3}[1-9]\d{0,5}(:[A-Za-z]{1,3}[1-9]\d{0,5})?$")]
RowNumber = Annotated[int, Field(ge=1, le=MAX_ROW)]
Count = Annotated[int, Field(ge=1, le=500)]
Limit = Annotated[int, Field(ge=1, le=200)]

MAX_READ = 5_000


class Sheets(WorkbookRules):
    """The spreadsheets."""

    after = ("contacts", "tickets")
    seen = {
        "sheets_workbook": ("name",),
        "sheets_sheet": ("name",),
        "sheets_cell": ("value",),
    }
    computed = {"sheets_cell": {"value": "formula"}}

    def fill(self, rng: random.Random) -> None:
        """Make the workbooks."""
        fill(self, rng)

    # --- reading ---------------------------------------------------------------------------

    @reads
    def list_workbooks(
        self, text: str = "", owner: str | None = None, limit: Limit = 50
    ) -> list[Entry]:
        """Find workbooks by name, the last changed first.

        Args:
            text: What the name contains, in any case.
            owner: Only workbooks of the person with this address.
            limit: How many to return at most.
        """
        rows = self.db.all(
            "SELECT id, name, owner, version, updated_at, updated_by FROM sheets_workbook"
            " WHERE instr(lower(name), lower(?1)) AND (?2 IS NULL OR owner = ?2)"
            " ORDER BY updated_at DESC, id DESC LIMIT ?3",
            text,
            owner,
            limit,
        )
        sql = "SELECT name FROM sheets_sheet WHERE workbook_id = ? ORDER BY position"
        return [{**row, "sheets": self.db.column(sql, row["id"])} for row in rows]

    @reads
    def get_workbook(self, workbook: int) -> Workbook:
        """Show a workbook's sheets and which cells of each are used.

        Args:
            workbook: Number of the workbook.
        """
        return self._whole(workbook)

    @reads
    def read_range(
        self, workbook: int, sheet: str, cells: Range | None = None, formulas: bool = False
    ) -> Cells:
        """Read cells, row by row; rows and columns past the last used one are left out.

        Args:
            workbook: Number of the workbook.
            sheet: Name of the sheet.
            cells: Which cells, as B2 or B2:D9; all that are used if left out.
            formulas: Whether to show formulas instead of what they come to.
        """
        row, book = self._workbook(workbook), Book(self, workbook)
        number = book.sheet(sheet)
        last_row, last_column = book.extent(number)
        area = self._area(cells) if cells else Area(None, 1, 1, last_row, last_column, False)
        bottom, right = min(area.bottom, last_row), min(area.right, last_column)
        if (bottom - area.top + 1) * (right - area.left + 1) > MAX_READ:
            raise ServiceError("invalid", f"expected at most {MAX_READ} cells at a time", "cells")
        return {
            "workbook": workbook,
            "version": row["version"],
            "sheet": book.names[number],
            "cells": write_area(area) if area.bottom and area.right else "A1",
            "rows": [
                [
                    (book.formulas.get(place) if formulas else None)
                    or shown(book.values.get(place))
                    for column in range(area.left, right + 1)
                    for place in [(number, line, column)]
                ]
                for line in range(area.top, bottom + 1)
            ],
        }

    @reads
    def find(self, text: Name, workbook: int | None = None, limit: Limit = 50) -> list[Found]:
        """Find cells whose value or formula contains a text, in any case.

        Args:
            text: What to look for.
            workbook: Number of the workbook to look in; all of them if left out.
            limit: How many to return at most.
        """
        if workbook is not None:
            self._workbook(workbook)
        rows = self.db.all(
            "SELECT w.id, w.name, s.name AS sheet, c.* FROM sheets_cell c"
            " JOIN sheets_sheet s ON s.id = c.sheet_id JOIN sheets_workbook w"
            " ON w.id = s.workbook_id WHERE (?1 IS NULL OR w.id = ?1)"
            " AND (instr(lower(c.value), lower(?2)) OR instr(lower(c.formula), lower(?2)))"
            " ORDER BY w.id, s.position, c.row, c.col LIMIT ?3",
            workbook,
            text,
            limit,
        )
        return [
            {
                "workbook": row["id"],
                "workbook_name": row["name"],
                "cell": f"{row['sheet']}!{column_letters(row['col'])}{row['row']}",
                "value": shown(kept(row["kind"], row["value"])),
                "formula": row["formula"],
            }
            for row in rows
        ]

    @reads
    def evaluate(self, workbook: int, sheet: str, formula: CellText) -> str | int | float | bool:
        """Work out a formula over a workbook without writing it anywhere.

        Args:
            workbook: Number of the workbook.
            sheet: Name of the sheet that cells without a sheet's name are in.
            formula: The formula, as =SUM(B2:B9)/COUNT(B2:B9).
        """
        self._workbook(workbook)
        book = Book(self, workbook)
        number = book.sheet(sheet)
        try:
            tree = parse(formula)
        except FormulaError as error:
            raise ServiceError("invalid", f"no formula: {error}", "formula") from None
        value = shown(evaluate(tree, book.look(number)))
        assert value is not None
        return value

    @reads
    def list_problems(self, workbook: int) -> list[Problem]:
        """List the cells of a workbook that have no value: errors and circular references.

        Args:
            workbook: Number of the workbook.
        """
        self._workbook(workbook)
        return self._problems(Book(self, workbook))

    # --- writing ---------------------------------------------------------------------------

    @writes
    def create_workbook(
        self,
        name: Name,
        sheets: Annotated[list[SheetName], Field(min_length=1, max_length=20)] | None = None,
    ) -> Workbook:
        """Make an empty workbook. It is yours.

        Args:
            name: Its name; several may have the same.
            sheets: Names of its sheets; one named Sheet1 if left out.
        """
        names = sheets or ["Sheet1"]
        if len({sheet.casefold() for sheet in names}) < len(names):
            raise ServiceError("invalid", "two sheets have the same name", "sheets")
        number = self.db.insert(
            "sheets_workbook",
            name=name,
            owner=self._me(),
            created_at=self.now,
            updated_at=self.now,
            updated_by=self._author(),
        )
        for position, sheet in enumerate(names, 1):
            self.db.insert("sheets_sheet", workbook_id=number, name=sheet, position=position)
        return self._whole(number)

    @writes
    def write_range(
        self, workbook: int, sheet: str, start: Range, rows: Rows, seen_version: int | None = None
    ) -> Written:
        """Write cells, row by row, over what is there. Formulas begin with =; null empties a cell.

        Args:
            workbook: Number of the workbook.
            sheet: Name of the sheet.
            start: The upper left cell, as B2.
            rows: What to write.
            seen_version: The version that was read; refused if the workbook has changed since.
        """
        self._unchanged(workbook, seen_version)
        book, area = Book(self, workbook), self._area(start, "start")
        return self._put(workbook, book, book.sheet(sheet), (area.top, area.left), rows)

    @writes
    def append_rows(
        self, workbook: int, sheet: str, rows: Rows, seen_version: int | None = None
    ) -> Written:
        """Write rows below the last one that is used, from column A.

        Args:
            workbook: Number of the workbook.
            sheet: Name of the sheet.
            rows: What to write.
            seen_version: The version that was read; refused if the workbook has changed since.
        """
        self._unchanged(workbook, seen_version)
        book = Book(self, workbook)
        number = book.sheet(sheet)
        return self._put(workbook, book, number, (book.extent(number)[0] + 1, 1), rows)

    @writes
    def clear_range(
        self, workbook: int, sheet: str, cells: Range, seen_version: int | None = None
    ) -> Written:
        """Empty cells.

        Args:
            workbook: Number of the workbook.
            sheet: Name of the sheet.
            cells: Which cells, as B2 or B2:D9.
            seen_version: The version that was read; refused if the workbook has changed since.
        """
        self._unchanged(workbook, seen_version)
        book, area = Book(self, workbook), self._area(cells)
        number = book.sheet(sheet)
        for place in list(book.values):
            inside = area.top <= place[1] <= area.bottom and area.left <= place[2] <= area.right
            if place[0] == number and inside:
                book.put(place, None)
        return self._settle(workbook, book, f"{book.names[number]}!{cells.upper()}")

    @writes
    def insert_rows(
        self,
        workbook: int,
        sheet: str,
        row: RowNumber,
        count: Count = 1,
        seen_version: int | None = None,
    ) -> Written:
        """Insert empty rows above a row. What is below moves down, and formulas follow it.

        Args:
            workbook: Number of the workbook.
            sheet: Name of the sheet.
            row: Number of the row, 1 for the first.
            count: How many rows.
            seen_version: The version that was read; refused if the workbook has changed since.
        """
        return self._shift(workbook, sheet, row, count, seen_version)

    @writes
    def delete_rows(
        self,
        workbook: int,
        sheet: str,
        row: RowNumber,
        count: Count = 1,
        seen_version: int | None = None,
    ) -> Written:
        """Delete rows. What is below moves up; formulas that name only these come to #REF!.

        Args:
            workbook: Number of the workbook.
            sheet: Name of the sheet.
            row: Number of the first row that goes.
            count: How many rows.
            seen_version: The version that was read; refused if the workbook has changed since.
        """
        return self._shift(workbook, sheet, row, -count, seen_version)

    @writes
    def fill_down(
        self, workbook: int, sheet: str, cells: Range, seen_version: int | None = None
    ) -> Written:
        """Copy the first row of some cells into the rows below. Formulas follow, but for $A$1.

        Args:
            workbook: Number of the workbook.
            sheet: Name of the sheet.
            cells: Which cells, as B2:D9; B2 to D2 are copied.
            seen_version: The version that was read; refused if the workbook has changed since.
        """
        self._unchanged(workbook, seen_version)
        book, area = Book(self, workbook), self._area(cells)
        number = book.sheet(sheet)
        if (area.bottom - area.top + 1) * (area.right - area.left + 1) > MAX_READ:
            raise ServiceError("invalid", f"expected at most {MAX_READ} cells at a time", "cells")
        try:
            book.fill_down(number, area)
        except FormulaError as error:
            raise ServiceError("conflict", f"a copy is no formula: {error}", "cells") from None
        return self._settle(workbook, book, f"{book.names[number]}!{cells.upper()}")

    @writes
    def add_sheet(self, workbook: int, name: SheetName) -> Workbook:
        """Add an empty sheet behind the others.

        Args:
            workbook: Number of the workbook.
            name: Its name.
        """
        self._workbook(workbook)
        self._free_name(Book(self, workbook), name)
        self.db.execute(
            "INSERT INTO sheets_sheet (workbook_id, name, position)"
            " SELECT ?1, ?2, max(position) + 1 FROM sheets_sheet WHERE workbook_id = ?1",
            workbook,
            name,
        )
        # A formula may have waited for a sheet of this name.
        self._settle(workbook, Book(self, workbook), name, touched=True)
        return self._whole(workbook)

    @writes
    def rename_sheet(self, workbook: int, sheet: str, name: SheetName) -> Workbook:
        """Rename a sheet, also in the formulas that name it.

        Args:
            workbook: Number of the workbook.
            sheet: Its name so far.
            name: Its new name.
        """
        self._workbook(workbook)
        book = Book(self, workbook)
        number = book.sheet(sheet)
        self._free_name(book, name, number)
        self.db.execute("UPDATE sheets_sheet SET name = ? WHERE id = ?", name, number)
        after = Book(self, workbook)
        after.rewrite(lambda _, tree: renamed(tree, sheet, name))
        self._settle(workbook, after, name, touched=True)
        return self._whole(workbook)

    @writes
    def delete_sheet(self, workbook: int, sheet: str) -> Workbook:
        """Delete a sheet for good; formulas elsewhere that name it come to #REF!.

        Args:
            workbook: Number of the workbook.
            sheet: Its name.
        """
        self._workbook(workbook)
        book = Book(self, workbook)
        number = book.sheet(sheet)
        if len(book.names) == 1:
            raise ServiceError("conflict", "a workbook keeps at least one sheet", "sheet")
        self.db.execute("DELETE FROM sheets_cell WHERE sheet_id = ?", number)
        self.db.execute("DELETE FROM sheets_sheet WHERE id = ?", number)
        self._settle(workbook, Book(self, workbook), sheet, touched=True)
        return self._whole(workbook)
