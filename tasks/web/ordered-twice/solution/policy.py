"""Opens the orders of the day that one account has placed, and cancels those placed twice."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")
FACTS = ("To", "Delivery")


def solve(view):
    told = " ".join(view.instruction.split())
    day = " ".join(re.search(r"On (\w{3})\w*, (\d+) (\w{3})", told).groups())
    yield from desk.enter_desk(view, "tomas")
    yield from desk.open_whole(view, f"{desk.HOST}/orders?status=paid")
    accounts = {}
    for row in [desk.cells(row) for row in view.rows("paid", "€")]:
        if row[1].startswith(day):
            accounts.setdefault(row[2].split()[-1], []).append(row[0].split()[1])
    second = []
    for orders in accounts.values():
        if len(orders) == 1:
            continue
        seen = {}
        for order in orders:
            yield view.goto(f"{desk.HOST}/order/{order}")
            goods = sorted((product_of(row), desk.cells(row)[-1]) for row in view.rows("€"))
            hours, minutes = re.search(r"(\d+):(\d+) UTC", desk.fact_of(view, "Placed")).groups()
            at = int(hours) * 60 + int(minutes)
            kind = str([goods, *(desk.fact_of(view, fact) for fact in FACTS)])
            seen.setdefault(kind, []).append((at, order))
        for same in seen.values():
            if len(same) == 2 and abs(same[0][0] - same[1][0]) < 60:
                second.append(max(same)[1])
    for order in second:
        yield from desk.cancel(view, order)


def product_of(row):
    """Return the number of the product that a row of an order links to."""
    return desk.number_in(next(n["url"] for n in row if "/product/" in str(n.get("url"))))
