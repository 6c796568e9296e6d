"""Empties the basket, finds the product in the right colour, and sends it as a gift."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    title, colour, count = re.search(r"“(.+?)” in (\w+), quantity (\d+)", told).groups()
    name, street, place, country = re.search(
        r"straight to (.+?), (.+?), (.+?), (\w+), by", told
    ).groups()
    postcode, city = place.split(" ", 1)
    card = re.search(r"card says “(.+?)”", told)[1]
    yield from shop.enter_shop(view)
    yield from shop.empty_cart(view)
    product = yield from shop.find_product(view, title, colour=colour)
    yield from shop.put_in_cart(view, product, int(count))
    address = {
        "Name": name,
        "Street and number": street,
        "Postal code": postcode,
        "Town": city,
        "Country": country,
    }
    yield from shop.check_out(view, address, "Express", card, ["WINTER20", "SPRING10"])
