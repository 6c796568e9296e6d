"""Reads the rules, the price and the mails, and finds that the approval is not there."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")
MAIL = "http://mail.office.example"
KNOWLEDGE = "http://knowledge.office.example"


def solve(view):
    told = " ".join(view.instruction.split())
    count, title, colour = re.search(r"need (\d+) pieces of “(.+?)” in (\w+)\.", told).groups()
    yield view.goto(f"{KNOWLEDGE}/?q=Lindenhof")
    yield view.click("link", "Buying at Lindenhof")
    yield view.act("read_page")
    limit = int(re.search(r"Up to (\d+) euros", view.observation.text)[1])
    yield from shop.find_product(view, title, colour=colour)
    price = next(text for text in view.texts if text.strip().startswith("€"))
    assert float(price.strip()[1:]) * int(count) > limit, price
    yield view.goto(f"{MAIL}/?q=Lindenhof")
    mails = sorted(shop.number_in(link["url"]) for link in shop.links(view, r"/message/\d+"))
    approved = False
    for mail in mails:
        yield view.goto(f"{MAIL}/message/{mail}")
        yield view.act("read_page")
        text = view.observation.text
        if "katrin.teixeira@" in text and f"{count} x {title} in {colour}" in text:
            approved = True
        if "take this back" in text:
            approved = False
    assert not approved
    yield view.act("give_up", reason="The purchase needs an approval that is not there.")
