"""Reads what Mara has written in the thread, and enters price after price."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")
forum = shared_policies("web", "forum")


def solve(view):
    told = " ".join(view.instruction.split())
    title = re.search(r"forum: “(.+?)”", told)[1]
    yield view.goto(f"{forum.HOST}/board/news")
    yield view.click("link", title)
    prices = {}
    for post in view.find_all("article"):
        author, *texts = [text for text in forum.within(view, post) if text]
        if author == "mara":
            prices |= dict(re.findall(r"(\w\w-\d+): €([\d.]+)", "\n".join(texts)))
    yield from desk.enter_desk(view, "yuki")
    for sku, price in prices.items():
        yield from desk.set_price(view, sku, price)
