"""Copies the statement from the viewer, compares it with the list, and corrects that."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")

LINE = re.compile(r"([A-Z]+-\d{4})\s*(\d{4}-\d\d-\d\d)\s*([\d,]+\.\d\d)")


def solve(view):
    yield from office.switch_to(view, r"^statement\.pdf")
    stated = LINE.findall((yield from office.copy_all(view, LINE.pattern)))
    yield from office.switch_to(view, r"^invoices\.xlsx")
    yield from office.cells_come(view, "A17", "C17")
    shown = office.cells(view)
    lines = {shown[f"A{row}"]: row for row in range(5, 18)}
    for number, day, amount in stated:
        plain = amount.replace(",", "")
        if number not in lines:
            yield from office.enter(view, "A18", [[number, day, plain, "added"]])
        elif office.amount(shown[f"C{lines[number]}"]) != float(plain):
            yield from office.enter(view, f"C{lines[number]}", [[plain, "corrected"]])
    yield from office.save(view)
