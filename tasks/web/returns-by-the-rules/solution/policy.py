"""Looks at the order of every return, and decides it."""

import re
from datetime import datetime

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")


def day(text, form):
    return datetime.strptime(text, form).date()


def solve(view):
    told = " ".join(view.instruction.split())
    since, fit_since = (
        day(text, "%d %B %Y") for text in re.findall(r"placed on (\d+ \w+ \d{4}) or later", told)
    )
    note = re.search(r"word for word: “(.+?)”", told)[1]
    yield from desk.enter_desk(view, "tomas")
    yield view.goto(f"{desk.HOST}/returns")
    waiting = [desk.cells(row) for row in view.rows("requested")]
    for number, order, _, _, reason, *_ in waiting:
        order = order.split()[-1]
        yield view.goto(f"{desk.HOST}/order/{order}")
        placed = day(desk.fact_of(view, "Placed").partition(",")[0], "%a %d %b %Y")
        if desk.euros(desk.fact_of(view, "Total")) > 200:
            continue
        known = {"Arrived damaged": since, "Wrong colour": since, "Does not fit": fit_since}
        approve = reason in known and placed >= known[reason]
        yield from desk.decide_return(view, number, approve, "" if approve else note)
