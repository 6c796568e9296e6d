"""Copies the text of every offer, types prices and formulas, and makes the cheapest row bold."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")
sheets = shared_policies("desktop", "sheets")

TERMS = re.compile(r"Freight: (?:([\d,]+\.\d\d) EUR|free of charge)\.\s*Delivery (\d+) days")
DATE = re.compile(r"(\d+) February 2026")


def plain(amount):
    return amount.replace(",", "")


def line(text, pieces):
    """Return what an offer says: prices by item, freight, days."""
    found = [re.search(rf"{item}\s*{n}\s*([\d,]+\.\d\d)", text) for item, n in pieces]
    freight, days = TERMS.search(text).groups(default="0")
    return [*(plain(one[1]) for one in found), plain(freight)], days


def solve(view):
    yield from office.cells_come(view, "A8", "H4")
    shown = office.cells(view)
    pieces = [(shown[f"{column}4"], int(shown[f"{column}5"])) for column in "BCDE"]
    rows = {shown[f"A{row}"]: row for row in (6, 7, 8)}
    offers, dates = {}, {}
    for text in (yield from sheets.read_files(view, "PDF document", 4, TERMS.pattern)):
        name, day = next(name for name in rows if name in text), int(DATE.search(text)[1])
        if day > dates.get(name, 0):
            offers[name], dates[name] = line(text, pieces), day
    yield from sheets.switch_to(view, "^comparison.xlsx")
    lines, totals = [], {}
    for name, row in rows.items():
        prices, days = offers[name]
        goods = "+".join(f"{column}{row}*{column}$5" for column in "BCDE")
        lines.append([*prices, f"={goods}+F{row}", days])
        counts = [*(n for _, n in pieces), 1]
        totals[row] = sum(float(p) * n for p, n in zip(prices, counts, strict=True))
    yield from office.enter(view, "B6", lines)
    lowest = min(totals, key=totals.get)
    yield from sheets.make_bold(view, f"A{lowest}:H{lowest}")
    yield from office.save(view)
