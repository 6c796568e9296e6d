"""Reads what the customer wants in the end, computes the quotation, and answers with it."""

import re
from decimal import Decimal

from agentgym.task.reference_policy import shared_policies

mail = shared_policies("desktop", "mail")
office = shared_policies("desktop", "office")
sheets = shared_policies("desktop", "sheets")

INBOX = 1
LIST = "Prices 2026"
ROWS = range(5, 16)
ITEM = re.compile(r"^- (\d+) (.+)$", re.MULTILINE)
CHANGED = re.compile(r"need (\d+) (.+?) in place of \d+, and no (.+?) at all", re.DOTALL)


def plain(name):
    """Return the words of an article without the endings of the plural."""
    return tuple(word.rstrip("s") for word in name.lower().split())


def wanted(enquiry, change):
    """Return the pieces of each article that is still wanted."""
    pieces = {plain(name): int(count) for count, name in ITEM.findall(enquiry)}
    count, more, gone = CHANGED.search(change).groups()
    pieces[plain(more)] = int(count)
    del pieces[plain(gone)]
    return pieces


def step(value, steps):
    """Return what belongs to the highest threshold that a value reaches; 0 below the first."""
    return max(((least, told) for least, told in steps if value >= least), default=(0, 0))[1]


def number(shown):
    return Decimal(re.sub(r"[^\d.]", "", shown))


def quotation(pieces, prices, discounts, freights):
    """Return the lines of the quotation as text."""
    lines, goods, slowest = [], Decimal(0), 0
    for article, count in pieces.items():
        code, price, weeks, remark = prices[article]
        off = 0 if "no discount" in remark else step(count, discounts)
        price = (price * (100 - off) / 100).quantize(Decimal("0.01"))
        lines.append(f"{code}, {count} pieces, {price:,.2f} EUR, {count * price:,.2f} EUR")
        goods += count * price
        slowest = max(slowest, weeks)
    freight = step(goods, freights)
    lines.append(f"Freight: {freight:,.2f} EUR")
    lines.append(f"Total including freight: {goods + freight:,.2f} EUR")
    lines.append("")
    lines.append(f"The delivery time is {slowest} weeks.")
    return lines


def solve(view):
    customer = re.match(r"(.+?) want a quotation", mail.told(view))[1]
    yield from office.window_comes(view, r"^prices\.xlsx")
    yield from office.cells_come(view, "A15", "E15")
    yield from sheets.switch_to(view, "Claws Mail")
    yield from mail.open_folder(view, INBOX)
    for place in range(mail.total(view)):
        yield from mail.open_mail(view, place)
        text = mail.text(view)
        if text.rstrip().endswith(customer) and "would like a quotation" in text:
            enquiry = text
        if text.rstrip().endswith(customer) and "Two things have changed" in text:
            change, answered = " ".join(text.split()), place
    yield from sheets.switch_to(view, r"^prices\.xlsx")
    yield from sheets.open_sheet(view, LIST, "A15")
    shown = office.cells(view)
    prices = {
        plain(shown[f"B{row}"]): (
            shown[f"A{row}"],
            number(shown[f"C{row}"]),
            int(shown[f"D{row}"]),
            shown.get(f"E{row}", ""),
        )
        for row in ROWS
    }
    yield from sheets.open_sheet(view, "Terms", "B13")
    shown = office.cells(view)
    discounts = [(number(shown[f"A{row}"]), number(shown[f"B{row}"])) for row in (5, 6, 7)]
    freights = [(number(shown[f"A{row}"]), number(shown[f"B{row}"])) for row in (11, 12, 13)]
    lines = quotation(wanted(enquiry, change), prices, discounts, freights)

    yield from sheets.switch_to(view, "Claws Mail")
    yield from mail.open_mail(view, answered)
    yield from mail.reply(view, ["Good morning,", "", *lines, "", "Kind regards"])
    yield from mail.send_later(view)
