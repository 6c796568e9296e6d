"""Reads both offers in the mail, works out the total of the later one, and adds a row."""

import re


def solve(view):
    told = " ".join(view.instruction.split())
    menu, people = re.search(r"having menu (\w) with the wine, (\d+) people", told).groups()
    # Offers are read in the order in which they came.
    yield view.goto("http://mail.office.example/?q=dinner&sender=plovercatering")
    mails = sorted(view.find_all("link", re.compile(".*Your dinner on 19 March.*")), key=number)
    for mail in mails:
        yield view.goto(f"http://mail.office.example{path(mail)}")
        yield view.act("read_page")
    offer = view.observation.text
    food, wine = (
        float(re.search(rf"{name}: EUR ([\d.]+)", offer)[1]) for name in (f"Menu {menu}", "Wine")
    )
    service = int(re.search(r"add (\d+) % for service on the food", offer)[1])
    total = round(int(people) * (food * (100 + service) / 100 + wine), 2)
    yield view.goto("http://sheets.office.example/?q=Dinners")
    yield view.click("link", "Dinners 2026")
    row = ["2026-03-19", "Board dinner", "Plover Catering", people, str(total)]
    yield view.enter("New rows", "\t".join(row))
    yield view.click("button", "Add rows")
    yield view.act("submit", total=total)


def path(link):
    """Return the path of a link."""
    return "/" + link["url"].split("/", 3)[-1]


def number(link):
    """Return the number of the mail that a link leads to."""
    return int(re.search(r"(\d+)\D*$", link["url"])[1])
