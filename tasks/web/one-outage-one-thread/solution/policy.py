"""Reads the newest threads of the board, merges those about the outage, and arranges the oldest."""

import re

from agentgym.task.reference_policy import shared_policies

forum = shared_policies("web", "forum")
MARKERS = {"last step": "last step", "stay grey": "stay grey", "confirm": "confirmation"}


def solve(view):
    told = " ".join(view.instruction.split())
    marker = next(said for sign, said in MARKERS.items() if sign in told)
    status = re.search(r"status “(\w+)”", told)[1]
    yield from forum.enter_forum(view, "tomas")
    yield view.goto(f"{forum.HOST}/board/site?order=newest")
    recent = sorted(forum.number_in(link["url"]) for link in forum.links(view, r"/thread/\d+$"))
    same = []
    for thread in recent[-10:]:
        yield view.goto(f"{forum.HOST}/thread/{thread}")
        posts = view.find_all("article")
        if marker in " ".join(forum.within(view, posts[0])):
            same.append(thread)
    first, *others = same
    for thread in others:
        yield from forum.merge(view, thread, first)
    yield from forum.arrange(view, first, status=status, responsible="yuki", label="outage")
