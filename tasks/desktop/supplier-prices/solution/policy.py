"""Reads three price lists in the browser, works out what each asks, and fills in the order."""

import re
from functools import partial

from agentgym.task.reference_policy import shared_policies

moves = shared_policies("desktop", "moves")


def solve(view):
    pieces, article = re.search(r"We need (\d+) pieces of ([\w ]+?)\.", moves.told(view)).groups()
    offers = []
    yield from moves.switch_to(view, "Firefox")
    for name in ("Marten Supplies", "Packhaus Reuter", "Boxwell Direct"):
        page = name.split()[1 if name.startswith("Packhaus") else 0].lower()
        yield view.act("press", keys="Control+L")
        yield view.act("type", text=f"file:///home/user/Offers/{page}.html\n")
        shown = partial(shows, view, name, article)
        yield from moves.until(view, shown, f"the prices of {name}")
        terms = next(n["value"] for n in view.find_all("paragraph") if "Delivery" in n["value"])
        code, price = listed(view, article)
        asked = total(terms, int(pieces), price)
        if asked is not None:
            offers.append((asked, name, code))
    asked, name, code = min(offers)
    yield from moves.switch_to(view, "order")
    yield view.act("press", keys="Control+Home")
    for down, value in ((2, name), (1, code), (2, f"{asked / 100:.2f}")):
        yield view.act("press", keys=" ".join(["Down"] * down + ["End"]))
        yield view.act("type", text=f" {value}")
    yield view.act("press", keys="Control+S")
    yield from moves.until(view, lambda: not moves.focused_title(view).startswith("*"), "the save")


def shows(view, name, article):
    headings = [node["name"] for node in view.find_all("heading")]
    return headings == [f"{name}: price list"] and bool(view.find_all("cell", article))


def listed(view, article):
    """Return number and price in cents of an article."""
    cells = [node["name"] for node in view.find_all("cell")]
    place = cells.index(article)
    return cells[place - 1], round(float(cells[place + 1]) * 100)


def total(terms, pieces, price):
    """Return what a supplier asks in cents; None if it does not take the order."""
    least = re.search(r"Smallest order: (\d+)", terms)
    if least and pieces < int(least[1]):
        return None
    cents = pieces * price * 100
    many, off = re.search(r"From (\d+) pieces of an article (\d+) per cent", terms).groups()
    if pieces >= int(many):
        cents = cents * (100 - int(off)) // 100
    cents = (cents + 50) // 100
    delivery = re.search(r"Delivery ([\d.]+), free from ([\d.]+)\.", terms)
    if delivery and cents < float(delivery[2]) * 100:
        cents += round(float(delivery[1]) * 100)
    return cents
