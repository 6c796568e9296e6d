"""Opens every product of the order, and reviews those without a review of hers."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    order = re.search(r"my order (\d+)", told)[1]
    stars = int(re.search(r"shop: (\d) stars", told)[1])
    text = re.search(r"exactly this text: (.+?) I have reviewed", told)[1]
    yield from shop.enter_shop(view)
    yield view.goto(f"{shop.HOST}/order/{order}")
    products = [shop.number_in(link["url"]) for link in shop.links(view, r"/product/\d+$")]
    for product in products:
        yield view.goto(f"{shop.HOST}/product/{product}")
        if not any("Nora Winter" in each for each in view.texts):
            yield from shop.review(view, product, stars, text)
