"""Tries to put that many into the cart, and says how many there are."""

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
    in_stock = int(re.search(r"only (\d+) in stock", refusal.lower())[1])
    yield view.act("submit", ordered="no", in_stock=in_stock)
