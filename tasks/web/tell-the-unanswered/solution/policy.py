"""Lists the threads without a reply, and replies to those of the year that are not locked."""

import re

from agentgym.task.reference_policy import shared_policies

forum = shared_policies("web", "forum")


def solve(view):
    told = " ".join(view.instruction.split())
    year = re.search(r"threads from (\d{4})", told)[1]
    text = re.search(r"as “Answered”: (.+?) Threads that are locked", told)[1]
    yield from forum.enter_forum(view, "tomas")
    threads = yield from forum.threads_of(view, "repairs", unanswered="on", order="newest")
    for thread in threads:
        yield view.goto(f"{forum.HOST}/thread/{thread}")
        written = " ".join(forum.within(view, view.find_all("article")[0]))
        if f"{year}, " in written and "locked" not in view.texts:
            yield from forum.reply(view, thread, text)
            yield from forum.arrange(view, thread, status="Answered")
