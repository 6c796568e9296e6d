"""Reads the mails in the editor, applies the correction, and types the lines below the last one."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")
sheets = shared_policies("desktop", "sheets")

MONTHS = ("January", "February", "March", "April", "May")
DATE = re.compile(r"Date: (\d+) (\w+) (\d{4})")
LINE = re.compile(r"- (\d+) x (.+)")
CHANGED = re.compile(r"we need (\d+) x (.+) and not")
CANCELLED = re.compile(r"cancel the (.+) altogether")
FIRST_ROW = 10


def day(text):
    number, month, year = DATE.search(text).groups()
    return f"{year}-{MONTHS.index(month) + 1:02d}-{int(number):02d}"


def orders(texts):
    """Return what each customer wants in the end: its day, and pieces by article."""
    found = {}
    # An order names no other mail, and is read before what corrects it.
    for text in sorted(texts, key=lambda text: "Subject: Re" in text):
        customer = text.strip().splitlines()[-1]
        if "Subject: Re" not in text:
            found[customer] = day(text), {a.strip(): n for n, a in LINE.findall(text)}
            continue
        pieces, article = CHANGED.search(text).groups()
        found[customer][1][article] = pieces
        del found[customer][1][CANCELLED.search(text)[1]]
    return found


def solve(view):
    texts = yield from sheets.read_files(view, "plain text document", 4, r"Kind regards\n.+\n.+")
    yield from sheets.switch_to(view, "^orders.xlsx")
    yield from sheets.open_sheet(view, "Articles", "B13")
    shown = office.cells(view)
    numbers = {shown[f"B{row}"]: shown[f"A{row}"] for row in range(5, 14)}
    yield from sheets.open_sheet(view, "Orders", "E9")
    lines = [
        [day, customer, numbers[article], article, pieces]
        for customer, (day, wanted) in orders(texts).items()
        for article, pieces in wanted.items()
    ]
    yield from office.enter(view, f"A{FIRST_ROW}", lines)
    yield from office.save(view)
