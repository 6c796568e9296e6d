"""Lists the paid orders, looks at their products in the shop, and moves on those that can go."""

import re
from datetime import datetime

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")
shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    day = re.search(r"including (\d+ \w+ \d{4})", told)[1]
    until = datetime.strptime(day, "%d %B %Y").date()
    limit = int(re.search(r"more than €(\d+)", told)[1])
    yield from desk.enter_desk(view, "tomas")
    yield view.goto(f"{desk.HOST}/orders?status=paid")
    for order, placed, _, delivery, _, total in [desk.cells(row) for row in view.rows("paid", "€")]:
        if datetime.strptime(placed, "%a %d %b %Y").date() > until or desk.euros(total) > limit:
            continue
        number = order.split()[-1]
        yield view.goto(f"{desk.HOST}/order/{number}")
        products = [desk.number_in(link["url"]) for link in desk.links(view, r"/product/\d+$")]
        gone = False
        for product in products:
            yield view.goto(f"{shop.HOST}/product/{product}")
            gone = gone or "no longer available" in view.texts
        if not gone:
            yield view.goto(f"{desk.HOST}/order/{number}")
            yield view.click("button", "Mark as packed")
            if delivery == "express":
                yield view.click("button", "Mark as shipped")
