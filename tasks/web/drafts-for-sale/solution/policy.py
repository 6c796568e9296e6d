"""Opens every draft of the category, and puts the complete ones on sale together."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")


def solve(view):
    told = " ".join(view.instruction.split())
    category = re.search(r"category (\w+)", told)[1]
    least = int(re.search(r"at least (\d+) pieces", told)[1])
    yield from desk.enter_desk(view, "yuki")
    listed = f"{desk.HOST}/?status=draft&category={category}"
    yield view.goto(listed)
    complete = []
    for product, sku in desk.products(view):
        yield view.goto(f"{desk.HOST}/product/{product}")
        price = float(view.find(name="Price in euros")["value"])
        stock = int(view.find(name="In stock")["value"])
        described = bool(view.find(name="Description").get("value", "").strip())
        if price and described and stock >= least:
            complete.append(sku)
    yield view.goto(listed)
    for sku in complete:
        yield view.click("checkbox", f"Select {sku}")
    yield view.click("button", "Put on sale")
