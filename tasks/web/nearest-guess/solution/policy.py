"""Reads all guesses, leaves out those that do not count, and announces the nearest."""

import re
from datetime import date, datetime

from agentgym.task.reference_policy import shared_policies

forum = shared_policies("web", "forum")


def solve(view):
    told = " ".join(view.instruction.split())
    number = int(re.search(r"there were (\d+)", told)[1])
    title = re.search(r"forum \(“(.+?)”", told)[1]
    last = date(2026, 2, int(re.search(r"end of \w+, (\d+) February", told)[1]))
    yield from forum.enter_forum(view, "tomas")
    yield view.goto(f"{forum.HOST}/board/news?order=newest")
    thread = forum.number_in(next(n["url"] for n in view.find_all("link", title)))
    guesses, page = [], 1
    while True:
        yield view.goto(f"{forum.HOST}/thread/{thread}?page={page}")
        guesses += [
            forum.within(view, n) for n in view.find_all("article", re.compile(r"Post \d+"))
        ]
        if not view.find_all("link", "Next"):
            break
        page += 1
    seen, best = set(), None
    for texts in guesses[1:]:
        joined = " | ".join(texts)
        who = next(text.strip() for text in texts if text.strip())
        staff = re.search(r"\| (moderator|admin) \|", joined)
        when = re.search(r"\w{3} \d+ \w{3} \d{4}", joined)[0]
        in_time = datetime.strptime(when, "%a %d %b %Y").date() <= last
        first = who not in seen
        seen.add(who)
        counts = first and in_time and not staff
        if not counts or "(edited)" in joined or "hidden:" in joined:
            continue
        # What follows the time is the text of the post.
        guess = int(re.search(r"\d+:\d+\W.*?(\d+)", joined)[1])
        if best is None or abs(guess - number) < best[0]:
            best = abs(guess - number), who
    yield from forum.reply(view, thread, f"The winner is {best[1]}.")
    yield from forum.arrange(view, thread, status="Done", locked="on")
