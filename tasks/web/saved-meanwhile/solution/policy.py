"""Enters the price; when the page is refused as old, opens it again and enters only the price."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")


def solve(view):
    told = " ".join(view.instruction.split())
    sku, price = re.search(r"product (\S+) costs €([\d.]+) from", told).groups()
    yield from desk.enter_desk(view, "yuki")
    yield from desk.set_price(view, sku, price)
    if any("meanwhile" in text for text in view.texts):
        yield from desk.set_price(view, sku, price)
