"""Compares what was bought with what is requested, and requests the rest."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    order = re.search(r"my order (\d+)", told)[1]
    words = re.search(r"in my words: “(.+?)”", told)[1]
    yield from shop.enter_shop(view)
    yield view.goto(f"{shop.HOST}/order/{order}")
    left = shop.not_returned(view)
    for title, quantity in left.items():
        yield from shop.request_return(view, order, title, quantity, "Arrived damaged", words)
