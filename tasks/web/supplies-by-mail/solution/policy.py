"""Reads the mails of the right sender, and orders what she wants in the end."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")
MAIL = "http://mail.office.example"
SENDER = "ida.sorel@fairlead.example"


def solve(view):
    told = " ".join(view.instruction.split())
    subject = re.search(r"shop: “(.+?)”", told)[1]
    delivery = re.search(r"with (\w+) delivery", told)[1].capitalize()
    yield view.goto(f"{MAIL}/?q={subject.replace(' ', '+')}")
    mails = sorted(shop.number_in(link["url"]) for link in shop.links(view, r"/message/\d+"))
    wanted, address = {}, {}
    for mail in mails:
        yield view.goto(f"{MAIL}/message/{mail}")
        yield view.act("read_page")
        text = view.observation.text
        if SENDER not in text:
            continue
        for count, title, colour in re.findall(r"(\d) x (.+?), (\w+)", text):
            wanted[title, colour] = int(count)
        if place := re.search(r"sent to: (.+?), (.+?), (\d+) (\w+), (\w+)\.", text):
            names = ("Name", "Street and number", "Postal code", "Town", "Country")
            address = dict(zip(names, place.groups(), strict=True))
    yield from shop.enter_shop(view)
    yield from shop.empty_cart(view)
    for (title, colour), count in wanted.items():
        product = yield from shop.find_product(view, title, colour=colour)
        yield from shop.put_in_cart(view, product, count)
    yield from shop.check_out(view, address, delivery)
