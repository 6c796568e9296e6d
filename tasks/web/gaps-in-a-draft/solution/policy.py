"""Looks the product up, fills the gaps of the draft, and publishes it."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")
forum = shared_policies("web", "forum")


def solve(view):
    told = " ".join(view.instruction.split())
    title, colour = re.search(r"our “(.+?)” in (\w+)", told).groups()
    yield from shop.find_product(view, title, colour=colour)
    number = shop.fact_of(view, "Article")
    price = next(text for text in view.texts if re.fullmatch(r"€[\d.,]+", text))
    yield from forum.enter_forum(view)
    yield view.goto(f"{forum.HOST}/drafts")
    rows = view.rows(f"{title} in {colour}")
    link = next(node for node in rows[0] if node["role"] == "link" and "/draft/" in node["url"])
    yield view.act("click", ref=link["ref"])
    text = view.find("textbox", "Text")["value"]
    text = text.replace("[number]", number).replace("[price]", price)
    yield view.enter("Text", text)
    yield view.click("button", re.compile("Publish|Publish draft"))
