"""Takes out what is gone, lowers what is scarce, and orders the rest."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")
PROBLEM = re.compile(r"no longer available|out of stock|only (\d+) in stock")


def solve(view):
    told = " ".join(view.instruction.split())
    limit = float(re.search(r"come to €(\d+)", told)[1])
    yield from shop.enter_shop(view)
    yield view.goto(f"{shop.HOST}/cart")
    while found := troubled(view):
        row, left = found
        if left:
            field = next(node for node in row if node["role"] == "spinbutton")
            yield view.act("type", ref=field["ref"], text=left)
        button = "Update" if left else "Remove"
        yield view.act("click", ref=next(n for n in row if is_button(n, button))["ref"])
    goods = next(text for text in view.texts if "Goods" in text)
    worth = float(re.sub(r"[^\d.]", "", goods))
    yield from shop.check_out(view, {}, "Express" if worth >= limit else "Standard")


def troubled(view):
    """Return the first row of the basket with a problem, and how many are left."""
    for row in view.rows("Remove"):
        problem = next((m for node in row if (m := PROBLEM.search(str(node.get("name"))))), None)
        if problem:
            return row, problem[1]
    return None


def is_button(node, name):
    return node["role"] == "button" and str(node.get("name", "")).startswith(name)
