"""Result types of the spreadsheets' tools."""

from __future__ import annotations

from typing_extensions import TypedDict

Shown = str | int | float | bool | None


class Entry(TypedDict):
    """A workbook in a list."""

    id: int
    name: str
    owner: str
    version: int
    updated_at: str
    updated_by: str
    sheets: list[str]


class Sheet(TypedDict):
    """One sheet of a workbook."""

    name: str
    used: str | None
    formulas: int


class Workbook(TypedDict):
    """A workbook and its sheets."""

    id: int
    name: str
    owner: str
    version: int
    created_at: str
    updated_at: str
    updated_by: str
    sheets: list[Sheet]


class Cells(TypedDict):
    """A rectangle of cells, row by row."""

    workbook: int
    version: int
    sheet: str
    cells: str
    rows: list[list[Shown]]


class Found(TypedDict):
    """A cell that a search found."""

    workbook: int
    workbook_name: str
    cell: str
    value: Shown
    formula: str | None


class Problem(TypedDict):
    """A cell without a value."""

    cell: str
    formula: str | None
    error: str


class Written(TypedDict):
    """The result of a change to cells."""

    workbook: int
    version: int
    cells: str
    circular: list[str]
    errors: list[Problem]
