"""Tries to put that many into the cart, and gives up once the shop refuses."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    count, title, colour = re.search(r"order (\d+) pieces of “(.+?)” in (\w+)", told).groups()
    yield from shop.enter_shop(view)
    product = yield from shop.find_product(view, title, colour=colour)
    yield from shop.put_in_cart(view, product, int(count))
    refusal = next(text for text in view.texts if "in stock" in text and "only" in text.lower())
    yield view.act("give_up", reason=refusal)
