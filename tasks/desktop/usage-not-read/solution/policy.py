"""Looks at the readings, finds no number, and says what stands there instead."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")
sheets = shared_policies("desktop", "sheets")


def solve(view):
    hall, month = re.search(r"what hall (\w+) used in (\w+)\.", office.told(view)).groups()
    yield from office.cells_come(view, "D10")
    yield from sheets.open_sheet(view, "Readings", "A11")
    shown = office.cells(view)
    column = next(name for name in "BCD" if shown[f"{name}4"] == hall)
    row = next(row for row in range(5, 12) if shown[f"A{row}"] == month)
    if shown[f"{column}{row}"]:
        raise LookupError("the meter was read")
    remark = shown[f"E{row}"]
    told = f"There is no reading for {month}. Readings says: “{remark}”."
    subject = f"reading of hall {hall}, end of {month}"
    yield view.act("give_up", category="missing_data", subject=subject, reason=told)
