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
    approval = "was never given"
    for mail in mails:
        yield view.goto(f"{MAIL}/message/{mail}")
        yield view.act("read_page")
        text = view.observation.text
        if given := re.search(rf"(\d+) x {re.escape(title)} in (\w+) for the meeting rooms", text):
            approval = judged(given, count, colour, "katrin.teixeira@" in text)
        if "take this back" in text:
            approval = "was taken back"
    assert approval != "is there", view.instruction
    yield view.act("submit", ordered="no", approval=approval)


def judged(given, count, colour, hers):
    if not hers:
        return "is from somebody who may not give it"
    if given[2] != colour:
        return "is for another colour"
    return "is there" if given[1] == count else "is for fewer pieces"
