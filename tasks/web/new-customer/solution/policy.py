"""Registers, puts the article into the new cart, and goes through the pages of the checkout."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    name, email, short = re.search(r"for him: (.+?), (\S+), password (\S+)\. If", told).groups()
    longer = re.search(r"password, take (\S+)\.", told)[1]
    count, sku = re.search(r"order (\d+) of the article (\S+) with", told).groups()
    yield view.goto(f"{shop.HOST}/register")
    for password in (short, longer):
        yield view.enter("Name", name)
        yield view.enter("E-mail address", email)
        yield view.enter("Password", password)
        yield view.click("button", "Open account")
        if "/register" not in view.url:
            break
    yield view.goto(f"{shop.HOST}/search?q={sku}")
    product = shop.number_in(shop.links(view, r"/product/\d+$")[0]["url"])
    yield from shop.put_in_cart(view, product, int(count))
    address = {
        "Name": name,
        "Street and number": "Lindenallee 12",
        "Postal code": "10115",
        "Town": "Berlin",
        "Country": "Germany",
    }
    yield from shop.check_out(view, address, "Pick up", "To me, from me")
