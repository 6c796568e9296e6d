"""Changes formulas when sheets are renamed, rows are inserted or deleted, and cells are copied.

As in every spreadsheet, a formula follows a cell that moves, a range that loses rows shrinks, a
deleted reference becomes ``#REF!``, and a copy keeps relative distances except with ``$``.
"""

from __future__ import annotations

from dataclasses import replace

from .evaluation import MAX_COLUMN, MAX_ROW
from .formula import Area, Gone, Node, mapped


def renamed(node: Node, old: str, new: str) -> Node:
    """Return a formula that names one sheet differently."""

    def change(area: Area) -> Node:
        named = area.sheet is not None and area.sheet.casefold() == old.casefold()
        return replace(area, sheet=new) if named else area

    return mapped(node, change)


def shifted(node: Node, own: str, sheet: str, row: int, count: int) -> Node:
    """Return a formula after rows have been inserted or deleted.

    Args:
        node: The formula.
        own: Name of the sheet that the formula is in.
        sheet: Name of the sheet whose rows they are.
        row: The first of them.
        count: How many have come, above what was that row; less than 0 for how many have gone.
    """

    def change(area: Area) -> Node:
        if (area.sheet or own).casefold() != sheet.casefold():
            return area
        if count > 0:
            top, bottom = (n + count if n >= row else n for n in (area.top, area.bottom))
        else:
            end = row - count  # the first row that stays
            if area.top >= row and area.bottom < end:
                return Gone()
            top = area.top + count if area.top >= end else min(area.top, row)
            bottom = area.bottom + count if area.bottom >= end else min(area.bottom, row - 1)
        return replace(area, top=top, bottom=min(bottom, MAX_ROW)) if top <= MAX_ROW else Gone()

    return mapped(node, change)


def copied(node: Node, rows: int, columns: int) -> Node:
    """Return a formula as it is in a copy some rows down and columns to the right."""

    def change(area: Area) -> Node:
        top, left, bottom, right = (
            n if pin else n + step
            for n, pin, step in zip(
                (area.top, area.left, area.bottom, area.right),
                area.pinned,
                (rows, columns) * 2,
                strict=True,
            )
        )
        top, bottom = sorted((top, bottom))
        left, right = sorted((left, right))
        if top < 1 or left < 1 or bottom > MAX_ROW or right > MAX_COLUMN:
            return Gone()
        return replace(area, top=top, left=left, bottom=bottom, right=right)

    return mapped(node, change)
