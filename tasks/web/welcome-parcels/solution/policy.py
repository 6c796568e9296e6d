"""Reads both sheets, sends each parcel that is missing, and notes its order."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")
SHEETS = "http://sheets.office.example"
MONTHS = ["January", "February", "March", "April"]


def solve(view):
    told = " ".join(view.instruction.split())
    book = re.search(r"workbook “(.+?)”", told)[1]
    month = MONTHS.index(re.search(r"who starts in (\w+) and", told)[1]) + 1
    soon = int(re.search(r"before the (\d+)\w\w of the month", told)[1])
    yield view.goto(f"{SHEETS}/?name={book.replace(' ', '+')}")
    link = view.find("link", book)
    yield view.act("click", ref=link["ref"])
    here = view.url.split("?")[0]
    people = lines_of(view)
    yield view.goto(f"{here}?sheet=Offices")
    offices = {line[0]: line[1:] for _, line in lines_of(view)[1:]}
    yield from shop.enter_shop(view)
    yield from shop.empty_cart(view)
    for row, (name, day, office, title, colour, order) in people[1:]:
        if order or not day.startswith(f"2026-{month:02}"):
            continue
        product = yield from shop.find_product(view, title, colour=colour)
        yield from shop.put_in_cart(view, product)
        street, postcode, town, country = offices[office][:4]
        address = {"Name": name, "Street and number": street, "Postal code": postcode}
        address |= {"Town": town, "Country": country}
        delivery = "Express" if int(day[-2:]) < soon else "Standard"
        card = f"Welcome to Fairlead, {name.split()[0]}!"
        yield from shop.check_out(view, address, delivery, card)
        placed = str(shop.number_in(view.url))
        yield view.goto(here)
        yield view.enter("Cell", f"F{row}")
        yield view.enter("Values", placed)
        yield view.click("button", re.compile("Write cells|Save cells|Enter values"))


def lines_of(view):
    """Return the rows of the sheet on this page, each with its number and its cells."""
    found = []
    for row in view.rows():
        number = next((n["name"] for n in row if n["role"] == "rowheader"), "")
        if number.strip().isdigit():
            found.append(
                (
                    int(number),
                    [
                        str(n.get("name", "")).strip()
                        for n in row
                        if n["role"] in ("cell", "gridcell")
                    ],
                )
            )
    return found
