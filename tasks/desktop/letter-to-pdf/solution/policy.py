"""Reads the person's line, replaces the placeholders, saves the letter and exports it."""

import re

from agentgym.task.reference_policy import shared_policies

writer = shared_policies("desktop", "writer")

COLUMNS = "ABCDEFG"
LETTER = "/home/user/Letters/visit.docx"
EXPORT = "/home/user/Letters/visit.pdf"


def solve(view):
    person = re.search(r"write to (.+?) that", writer.told(view))[1]
    yield from writer.switch_to(view, r"^contacts")
    yield from writer.cells_come(view, "A16", "G16")
    shown = writer.cells(view)
    rows = [n for n in range(5, 17) if shown[f"A{n}"] == person]
    (row,) = (n for n in rows if shown[f"E{n}"] == "current")
    values = {shown[f"{column}4"]: shown[f"{column}{row}"] for column in COLUMNS}
    yield from writer.switch_to(view, r"^visit-template")
    for name, value in values.items():
        if name != "Status":
            yield from writer.replace_all(view, f"<{name}>", value)
    yield from writer.save_as(view, LETTER)
    yield from writer.export_pdf(view, EXPORT)
