"""Counts the last word of everybody, and takes the best that the shop can deliver."""

import re
from collections import Counter

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")
CHAT = "http://chat.office.example"
SKU = re.compile(r"\b[A-Z]{2}-\d{4}\b")


def solve(view):
    told = " ".join(view.instruction.split())
    count = int(re.search(r"put (\d+) pieces", told)[1])
    question = re.search(r"\(“(.+?)”\)", told)[1]
    yield view.goto(f"{CHAT}/?name=berlin")
    yield view.click("link", "berlin")
    articles = [(n, shop.within(view, n)) for n in view.find_all("article")]
    node, texts = next((n, t) for n, t in articles if question in " ".join(t))
    offered = SKU.findall(" ".join(texts))
    yield view.goto(f"{CHAT}/thread/{node['name'].split()[1]}")
    votes = {}
    for article in view.find_all("article")[1:]:
        texts = [text.strip() for text in shop.within(view, article) if text.strip()]
        who = next(text for text in texts if len(text) > 3)
        found = SKU.findall(" ".join(texts))
        if len(found) == 1 and found[0] in offered:
            votes[who] = found[0]
    facts = {}
    for sku in offered:
        yield view.goto(f"{shop.HOST}/search?q={sku}")
        link = shop.links(view, r"/product/\d+$")[0]
        yield view.goto(f"{shop.HOST}/product/{shop.number_in(link['url'])}")
        price = next(text for text in view.texts if text.strip().startswith("€"))
        facts[sku] = shop.number_in(view.url), float(price.strip()[1:].replace(",", ""))
    counted = Counter(votes.values())
    ranked = sorted(offered, key=lambda sku: (-counted[sku], facts[sku][1]))
    yield from shop.enter_shop(view)
    for sku in ranked:
        yield from shop.put_in_cart(view, facts[sku][0], count)
        if view.url.endswith("/cart"):
            return
