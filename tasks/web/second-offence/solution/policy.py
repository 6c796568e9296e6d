"""Reads the thread and the log, hides what has to be hidden, and suspends who did it before."""

import re

from agentgym.task.reference_policy import shared_policies

forum = shared_policies("web", "forum")
PRIVATE = r"\b01\d\d 555 \d{4}|\border \d+|(?:Parkweg|Hauptstr\.|Storgatan|Rue Verte) \d+"


def solve(view):
    told = " ".join(view.instruction.split())
    title = re.search(r"thread “(.+?)”", told)[1]
    days = int(re.search(r"for (\d+) days, with", told)[1])
    yield from forum.enter_forum(view, "tomas")
    yield view.goto(f"{forum.HOST}/board/home?order=newest")
    thread = forum.number_in(next(n["url"] for n in view.find_all("link", title)))
    posts = yield from read_all(view, thread)
    found = [(number, who) for number, who, text in posts if re.search(PRIVATE, text)]
    before = yield from suspended_before(view)
    for number, _ in found:
        yield view.goto(f"{forum.HOST}/post/{number}/hide")
        yield view.enter("Reason, which the author reads", "Rule 2")
        yield view.click("button", "Hide post")
    again = [who for _, who in found if who in before]
    for who in again:
        yield from forum.suspend(view, who, days, "Rule 2, again")


def read_all(view, thread):
    """Return number, author and text of every post of a thread."""
    posts, page = [], 1
    while True:
        yield from forum.open_whole(view, f"{forum.HOST}/thread/{thread}?page={page}")
        for article in view.find_all("article", re.compile(r"Post \d+")):
            texts = [text.strip() for text in forum.within(view, article) if text.strip()]
            posts.append((int(article["name"].split()[1]), texts[0], " ".join(texts)))
        if not view.find_all("link", "Next"):
            return posts
        page += 1


def suspended_before(view):
    """Return who was suspended, as the log says, and not let off the same day."""
    entries, page = [], 1
    while True:
        yield from forum.open_whole(view, f"{forum.HOST}/log?page={page}")
        entries += [forum.cells(row) for row in view.rows("suspended for")]
        if not view.find_all("link", "Next"):
            break
        page += 1
    found = {(when.rsplit(",", 1)[0], who.split()[1], what) for when, _, what, who, *_ in entries}
    let_off = {(day, who) for day, who, what in found if " 0 days" in what}
    return {who for day, who, _ in found if (day, who) not in let_off}
