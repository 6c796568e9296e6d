"""Finds the order by its day, sees that it has left, and says so."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    day, month, title = re.search(r"On (\d+) (\w{3})\w* I ordered “(.+?)”", told).groups()
    yield from shop.enter_shop(view)
    yield view.goto(f"{shop.HOST}/orders")
    row = view.rows(title, f"{day} {month} 2026")[0]
    yield view.act("click", ref=next(n for n in row if n["role"] == "link")["ref"])
    assert not view.find_all("button", "Cancel order"), view.texts
    status = next(text for text in view.texts if text in ("shipped", "delivered"))
    yield view.act("submit", other_colour_ordered="no", status=status)
