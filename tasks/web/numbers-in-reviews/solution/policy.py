"""Finds the reviews with a number, and hides them."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")


def solve(view):
    told = " ".join(view.instruction.split())
    prefix = re.search(r"begin with (\d+)", told)[1]
    yield from desk.enter_desk(view, "tomas")
    found = f"{desk.HOST}/reviews?text={prefix}"
    yield view.goto(found)
    rows = [desk.cells(row) for row in view.rows(prefix, "published")]
    for number in [row[0] for row in rows if re.search(rf"{prefix} \d", row[4])]:
        yield view.click("button", f"Hide review {number}")
