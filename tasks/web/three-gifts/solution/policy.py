"""Reads the list in the draft, and places an order for each line."""

import re

from agentgym.task.reference_policy import shared_policies

forum = shared_policies("web", "forum")
shop = shared_policies("web", "shop")
LINE = re.compile(r"(\d) x (.+?) \((\w+)\) to (.+?), (.+?), (.+?), (.+?), (\w+); card: (.+)")


def solve(view):
    told = " ".join(view.instruction.split())
    delivery = re.search(r"with (\w+) delivery", told)[1].capitalize()
    yield from forum.enter_forum(view)
    yield view.goto(f"{forum.HOST}/drafts")
    link = next(node for node in view.rows("Presents")[0] if "/draft/" in str(node.get("url")))
    yield view.act("click", ref=link["ref"])
    lines = LINE.findall(view.find("textbox", "Text")["value"])
    yield from shop.enter_shop(view)
    yield from shop.empty_cart(view)
    for count, title, colour, name, street, postcode, city, country, card in lines:
        product = yield from shop.find_product(view, title, colour=colour)
        yield from shop.put_in_cart(view, product, int(count))
        address = {
            "Name": name,
            "Street and number": street,
            "Postal code": postcode,
            "Town": city,
            "Country": country,
        }
        yield from shop.check_out(view, address, delivery, card.strip())
