"""Reads the customer's line, and replaces the placeholders of the template one by one."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")

COLUMNS = "ABCDEFG"
TARGET = "/home/user/Documents/reminder.docx"


def solve(view):
    company = re.match(r"(.+?) still has not paid", office.told(view))[1]
    yield from office.switch_to(view, r"^open-invoices")
    yield from office.cells_come(view, "A10", "G10")
    shown = office.cells(view)
    (row,) = (n for n in range(5, 11) if shown[f"A{n}"] == company)
    values = {shown[f"{column}4"]: shown[f"{column}{row}"] for column in COLUMNS}
    values["Amount"] = f"{office.amount(values['Amount']):,.2f}"
    yield from office.switch_to(view, r"^reminder-template")
    for name, value in values.items():
        yield from office.replace_all(view, f"[{name}]", value)
    yield from office.save_as(view, TARGET)
