"""Counts the tickets of both tags in the help desk's lists, page by page, each ticket once."""

import re
from datetime import datetime

HOST = "http://tickets.office.example"
MONTHS = "January February March April May June July August September October November December"


def months_of(told):
    """Return the first and the last month as 2025-09; the logical time is March 2026."""
    month = f"({MONTHS.replace(' ', '|')})"
    found = re.search(rf"from {month}(?: (\d{{4}}))? to {month}(?: (\d{{4}}))?", told)
    first, _, last, year = found.groups()
    begin, end = (MONTHS.split().index(name) + 1 for name in (first, last))
    last_year = int(year or 2026)
    first_year = last_year - 1 if begin > end else last_year
    return f"{first_year}-{begin:02}", f"{last_year}-{end:02}"


def solve(view):
    told = " ".join(view.instruction.split())
    begin, end = months_of(told)
    opened, live = set(), set()
    for tag in re.findall(r"`([a-z-]+)`", told)[:2]:
        yield view.goto(f"{HOST}/?tag={tag}")
        while True:
            names = [n["name"] for n in view.find_all("columnheader")]
            for row in view.rows("20"):
                cells = [n["name"] for n in row if n["role"] in ("cell", "columnheader")]
                if cells == names:
                    continue
                number = next(n["url"] for n in row if n["role"] == "link")
                day = datetime.strptime(cells[names.index("Opened")], "%d %b %Y")
                if begin <= day.strftime("%Y-%m") <= end:
                    opened.add(number)
                    if cells[names.index("Status")] in ("open", "pending"):
                        live.add(number)
            if not view.find_all("link", "Next"):
                break
            yield view.click("link", "Next")
    yield view.act("submit", opened=len(opened), not_closed=len(live))
