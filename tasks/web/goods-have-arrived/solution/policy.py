"""Adds to the stock of product after product."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")


def solve(view):
    told = " ".join(view.instruction.split())
    yield from desk.enter_desk(view, "yuki")
    for sku, count in re.findall(r"(\w\w-\d+) x(\d+)", told):
        yield from desk.open_product(view, sku)
        field = view.find(name="In stock")
        yield view.act("type", ref=field["ref"], text=str(int(field["value"]) + int(count)))
        yield view.click("button", "Save")
