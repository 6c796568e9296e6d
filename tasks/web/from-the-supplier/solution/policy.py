"""Reads the list and the notes, leaves out what is known, and imports the rest."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")
forum = shared_policies("web", "forum")
OURS = {"Lighting": "Lamps", "Bath": "Bathroom", "Camping": "Outdoor"}
TIMES = {"twice": 2, "two and a half times": 2.5, "three times": 3}


def solve(view):
    told = " ".join(view.instruction.split())
    times = TIMES[re.search(r"price is (.+?) the one in the list", told)[1]]
    yield from forum.enter_forum(view, "yuki")
    yield view.goto(f"{forum.HOST}/drafts")
    link = next(n for n in view.rows("New from the supplier")[0] if "/draft/" in str(n.get("url")))
    yield view.act("click", ref=link["ref"])
    text = view.find("textbox", "Text")["value"]
    items = {
        line.split("; ")[0]: line.strip().split("; ")
        for line in text.split("\n")
        if line.count("; ") == 5
    }
    items.pop("Article")
    withdrawn = re.search(r"called: (\S+) is not made", text)[1]
    sku, price = re.search(r"And (\S+) costs ([\d.]+),", text).groups()
    items.pop(withdrawn)
    items[sku][5] = price
    yield from desk.enter_desk(view, "yuki")
    rows = ["sku,title,brand,category,colour,price,stock"]
    for sku, (_, title, brand, category, colour, price) in items.items():
        yield view.goto(f"{desk.HOST}/?q={sku}")
        if sku not in dict(map(reversed, desk.products(view))):
            price = f"{float(price) * times:.2f}"
            category = OURS.get(category, category)
            rows.append(",".join((sku, title, brand, category, colour, price, "0")))
    yield view.goto(f"{desk.HOST}/import")
    yield view.enter("Or rows", "\n".join(rows))
    yield view.click("button", "Import")
