"""Compares the three profiles, and appoints the one who fits."""

import re

from agentgym.task.reference_policy import shared_policies

forum = shared_policies("web", "forum")


def solve(view):
    told = " ".join(view.instruction.split())
    names = re.search(r"offered to help: (\S+), (\S+) and (\S+)\.", told).groups()
    yield from forum.enter_forum(view, "mara")
    posts = {}
    for name in names:
        yield view.goto(f"{forum.HOST}/user/{name}")
        if "Suspended until" not in view.texts:
            posts[name] = int(forum.fact_of(view, "Posts"))
    best = max(posts, key=posts.get)
    yield view.goto(f"{forum.HOST}/user/{best}")
    yield view.click("button", "Make moderator")
    yield view.act("dialog", accept=True)
