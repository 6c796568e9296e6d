"""Looks at the reviews of everything that is sold out, and archives what is disliked."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")
shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    category = re.search(r"of the category (\w+) that", told)[1]
    least = int(re.search(r"fewer than (\d) stars", told)[1])
    listed = f"{desk.HOST}/?low=on&status=active&category={category}"
    yield from desk.enter_desk(view, "yuki")
    sold_out = []
    yield view.goto(listed)
    place = [node["name"].strip() for node in view.find_all("columnheader")].index("Stock")
    products = dict(desk.products(view))
    for row in view.rows("€"):
        if desk.cells(row)[place] == "0":
            link = next(n for n in row if "/product/" in str(n.get("url")))
            sold_out.append(desk.number_in(link["url"]))
    disliked = []
    for number in sold_out:
        yield view.goto(f"{shop.HOST}/product/{number}")
        reviews = [" ".join(shop.within(view, node)) for node in view.find_all("article")]
        stars = [text.count("★") for text in reviews]
        if len(stars) >= 2 and sum(stars) < least * len(stars):
            disliked.append(number)
    yield view.goto(listed)
    for number in disliked:
        yield view.click("checkbox", f"Select {products[number]}")
    yield view.click("button", "Archive")
