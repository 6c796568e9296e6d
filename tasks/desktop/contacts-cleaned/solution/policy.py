"""Reads the list, corrects cell after cell, and then deletes the doubled rows from below."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")

FIRST, LAST = 5, 24
PREFIX = re.compile(r"\+49 ?\(0\)|\+49|0049|\(0|0")


def phone(text):
    """Return a number in the one spelling; what follows the prefix begins with the area code."""
    rest = PREFIX.sub("", text, count=1).strip()
    area, *number = re.findall(r"\d+", rest)
    return f"+49 {area} {''.join(number)}"


def blanks(text):
    return " ".join(text.split())


def delete_row(view, row):
    """Delete a row by the menu, and wait until the next one has moved up."""
    below = office.cells(view)[f"D{row + 1}"]
    yield from office.go_to(view, f"A{row}")
    yield from office.menu(view, "Sheet", "Delete Rows")
    yield from office.until(
        view, lambda: office.cells(view).get(f"D{row}") == below, f"the end of row {row}"
    )


def solve(view):
    yield from office.cells_come(view, f"A{LAST}", f"E{LAST}")
    shown = office.cells(view)
    seen, doubled = set(), []
    for row in range(FIRST, LAST + 1):
        address = shown[f"D{row}"].lower()
        if address in seen:
            doubled.append(row)
            continue
        seen.add(address)
        clean = {column: blanks(shown[f"{column}{row}"]) for column in "ABC"}
        clean["E"] = phone(shown[f"E{row}"])
        for column, text in clean.items():
            if text != shown[f"{column}{row}"]:
                yield from office.enter(view, f"{column}{row}", [[text]])
    for row in reversed(doubled):
        yield from delete_row(view, row)
    yield from office.save(view)
