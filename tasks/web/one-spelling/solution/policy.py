"""Lists the products for sale with the brand in either spelling, and corrects the wrong ones."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")


def solve(view):
    told = " ".join(view.instruction.split())
    wrong, right = re.search(r"brand “(.+?)” in place of “(.+?)”", told).groups()
    yield from desk.enter_desk(view, "yuki")
    skus = yield from desk.articles(view, wrong, "active", "Brand", wrong)
    for sku in skus:
        yield from desk.open_product(view, sku)
        yield view.enter("Brand", right)
        yield view.click("button", "Save")
