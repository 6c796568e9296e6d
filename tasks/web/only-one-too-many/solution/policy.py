"""Opens the latest orders until one goes to the town, and cancels it."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    town = re.search(r"friend in (\S+) has", told)[1]
    yield from shop.enter_shop(view)
    yield view.goto(f"{shop.HOST}/orders")
    orders = [shop.number_in(link["url"]) for link in shop.links(view, r"/order/\d+$")]
    for order in orders[:5]:
        yield view.goto(f"{shop.HOST}/order/{order}")
        if town in shop.fact_of(view, "To"):
            yield from shop.cancel(view)
            return
