"""Copies the text of every receipt, applies the rules of the form, and types its table."""

import re
from decimal import ROUND_HALF_UP, Decimal

from agentgym.task.reference_policy import shared_policies

files = shared_policies("desktop", "files")
office = shared_policies("desktop", "office")
sheets = shared_policies("desktop", "sheets")

TOTAL = r"Total\s*[\d,]+\.\d\d"
# The viewer copies the cells of a line without a blank between them.
ITEM = re.compile(r"^(.*?\D) ?(\d[\d,]*\.\d\d)$", re.MULTILINE)
ALCOHOL = re.compile(r"\b(wine|beer|gin)\b", re.IGNORECASE)
CENT = Decimal("0.01")


def rates(notes):
    """Return the rate by day of the month; a correction below replaces what was there."""
    found = {int(day): rate for day, rate in re.findall(r"(\d+) March: 1 \w+ = ([\d.]+)", notes)}
    found[13] = re.search(r"corrected the rate of Friday, it is 1 \w+ = ([\d.]+\d)", notes)[1]
    return {day: Decimal(rate) for day, rate in found.items()}


def line(text, notes):
    """Return number, currency, amount, rate and euros of a receipt."""
    number = re.search(r"Receipt (R\d)", text)[1]
    day, currency = (
        int(re.search(r"(\d+) March 2026", text)[1]),
        re.search(r"Amount (\w+)", text)[1],
    )
    remark = re.search(rf"^{number}: (.+)$", notes, re.MULTILINE)
    items = [(name, Decimal(price.replace(",", ""))) for name, price in ITEM.findall(text)]
    kept = [one for one in items if one[0] != "Total" and not ALCOHOL.search(one[0])]
    if remark:
        only = re.match(r"only the (.+) was for", remark[1])
        kept = [one for one in kept if only and one[0].lower() == only[1].lower()]
    known = rates(notes)
    rate = Decimal(1) if currency == "EUR" else known[max(one for one in known if one <= day)]
    amount = sum((price for _, price in kept), Decimal("0.00"))
    return number, currency, amount, rate, (amount * rate).quantize(CENT, ROUND_HALF_UP)


def solve(view):
    yield from sheets.switch_to(view, "Thunar$")
    receipts = yield from sheets.read_files(view, "PDF document", 7, TOTAL)
    yield from files.open_entry(view, "notes.txt")
    notes = files.text(view)
    yield from files.close_window(view)
    lines = sorted(line(text, notes) for text in receipts)
    cells = [str(value) for one in lines for value in (*one[1:], "")]
    total = sum(one[4] for one in lines)
    yield from sheets.switch_to(view, r"^claim\.docx")
    yield from office.find_text(view, "R1 Train")
    yield from office.tab_to(view, 1, "B2")
    yield view.act("type", text="\t".join([*cells[:-1], "", "", "", "", str(total)]))
    yield from office.in_cell(view, "E9")
    yield from office.save(view)
