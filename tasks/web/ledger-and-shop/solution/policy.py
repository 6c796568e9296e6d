"""Reads all orders of the account, and corrects and completes the sheet."""

import re
from datetime import datetime

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")
SHEETS = "http://sheets.office.example"
WRITE = re.compile("Write cells|Save cells|Enter values")


def solve(view):
    told = " ".join(view.instruction.split())
    year = re.search(r"there is a sheet (\d{4})", told)[1]
    yield from shop.enter_shop(view)
    orders = yield from all_orders(view, year)
    yield view.goto(f"{SHEETS}/?name=Lindenhof")
    yield view.act("click", ref=view.find("link", "Orders at Lindenhof")["ref"])
    here = f"{view.url.split('?')[0]}?sheet={year}"
    yield view.goto(here)
    lines = lines_of(view)
    for row, (number, day, total, status) in lines:
        wanted = orders.get(number, [number, day, total, "unknown"])
        for column, old, new in zip("ABCD", (number, day, total, status), wanted, strict=True):
            if old != new:
                yield view.enter("Cell", f"{column}{row}")
                yield view.enter("Values", str(new))
                yield view.click("button", WRITE)
    known = {number for _, (number, *_) in lines}
    missing = sorted((o for n, o in orders.items() if n not in known), key=lambda o: o[1])
    yield view.enter("New rows", "\n".join("\t".join(map(str, line)) for line in missing))
    yield view.click("button", "Add rows")


def all_orders(view, year):
    """Return number, day, total and status of the orders of a year."""
    found, page = {}, 1
    while True:
        yield view.goto(f"{shop.HOST}/orders?page={page}")
        for number, day, _, status, total in [shop.cells(row) for row in view.rows("€")]:
            day = datetime.strptime(day, "%a %d %b %Y").date().isoformat()
            number = number.split()[1]
            if day.startswith(year):
                found[number] = [number, day, float(re.sub(r"[^\d.]", "", total)), status]
        if not view.find_all("link", "Next"):
            return found
        page += 1


def lines_of(view):
    """Return the lines below the head, each with its row and its first cells."""
    found = []
    for row in view.rows():
        at = next((n["name"] for n in row if n["role"] == "rowheader"), "").strip()
        if at.isdigit() and int(at) > 1:
            texts = [
                str(n.get("name", "")).strip() for n in row if n["role"] in ("cell", "gridcell")
            ]
            found.append((int(at), [texts[0], texts[1][:10], float(texts[2]), texts[3]]))
    return found
