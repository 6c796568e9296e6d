"""Reads every thread, looks its order up, and arranges the thread."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")
forum = shared_policies("web", "forum")
STATUSES = {"cancelled": "Declined", "delivered": "Done", "shipped": "Answered"}


def solve(view):
    told = " ".join(view.instruction.split())
    label = re.search(r"label “(.+?)”", told)[1]
    yield from desk.enter_desk(view, "tomas")
    yield from forum.enter_forum(view, "tomas")
    yield view.goto(f"{forum.HOST}/board/site?order=newest")
    links = forum.links(view, r"/thread/\d+$")
    threads = [forum.number_in(n["url"]) for n in links if n["name"] == "Where is my order?"]
    orders = {}
    for thread in threads:
        yield view.goto(f"{forum.HOST}/thread/{thread}")
        texts = forum.within(view, view.find_all("article")[0])
        asking = next(text for text in texts if re.search("order|number", text, re.IGNORECASE))
        orders[thread] = re.search(r"\d{3,4}", asking)[0]
    for thread, order in orders.items():
        yield view.goto(f"{desk.HOST}/order/{order}")
        status = desk.status_of_order(view)
        wanted = {"status": STATUSES[status]} if status in STATUSES else {"responsible": "tomas"}
        yield from forum.arrange(view, thread, **wanted, label=label)
