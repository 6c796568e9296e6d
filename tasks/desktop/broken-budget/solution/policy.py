"""Looks for what does not add up, and copies the formulas of neighbours over the broken ones."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")
sheets = shared_policies("desktop", "sheets")

ITEMS = range(5, 13)
QUARTERS = "BCDE"
NUMBER = re.compile(r"-?[\d,]+(\.\d+)?")


def solve(view):
    yield from office.cells_come(view, "F13")
    shown = office.cells(view)
    amounts = {}
    for cell in (f"{column}{row}" for row in ITEMS for column in QUARTERS):
        plain = re.sub(r"\s", "", shown[cell])
        amounts[cell] = float(plain)
        if not NUMBER.fullmatch(shown[cell]):
            yield from office.enter(view, cell, [[plain]])
    shown = office.cells(view)
    # A cell with an error shows no value.
    for row in (row for row in ITEMS if not shown[f"F{row}"]):
        yield from sheets.copy_cell(view, f"F{row - 1}", f"F{row}")
    for column in QUARTERS:
        total = sum(amounts[f"{column}{row}"] for row in ITEMS)
        if office.amount(shown[f"{column}13"]) != total:
            yield from sheets.copy_cell(view, f"{chr(ord(column) - 1)}13", f"{column}13")
    yield from sheets.open_sheet(view, "Summary", "A9")
    first = yield from sheets.formula(view, "B5")
    second = first.replace("B13", "D13").replace("C13", "E13")
    yield from office.enter(view, "B6", [[second]])
    yield from office.save(view)
