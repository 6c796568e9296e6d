"""Reads every report, decides it by the post, and suspends who has advertised."""

import re

from agentgym.task.reference_policy import shared_policies

forum = shared_policies("web", "forum")
ADVERTISES = r"300 euros a day|watches|casino"
BAD = rf"{ADVERTISES}|idiot|clown|too stupid|Call me about it|My order is"


def solve(view):
    told = " ".join(view.instruction.split())
    days = int(re.search(r"for (\d+) days", told)[1])
    reason = re.search(r"reason is “(.+?)”", told)[1]
    yield from forum.enter_forum(view, "tomas")
    found = yield from forum.reports(view)
    yield view.goto(f"{forum.HOST}/reports")
    for number, text in found.items():
        yield from forum.decide(view, number, bool(re.search(BAD, text)))
    texts = [text for text in found.values() if re.search(ADVERTISES, text)]
    for handle in {re.search(r"Post \d+ by\s+(\S+)", text)[1]: 0 for text in texts}:
        yield from forum.suspend(view, handle, days, reason)
