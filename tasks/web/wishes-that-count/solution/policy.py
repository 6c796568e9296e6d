"""Lists the open wishes by the number of posts, and arranges those that have enough."""

import re

from agentgym.task.reference_policy import shared_policies

forum = shared_policies("web", "forum")


def solve(view):
    told = " ".join(view.instruction.split())
    least = int(re.search(r"at least (\d+) posts", told)[1])
    label = re.search(r"label “(.+?)”", told)[1]
    yield from forum.enter_forum(view, "mara")
    yield view.goto(f"{forum.HOST}/board/wishes?status=open&order=replies")
    chosen = []
    while True:
        heads = [node["name"] for node in view.find_all("columnheader")]
        posts = next(i for i, name in enumerate(heads) if name in ("Posts", "Messages"))
        rows = [row for row in view.rows("Open") if forum.links_of(row)]
        found = [r for r in rows if int(forum.cells(r)[posts]) >= least]
        chosen += [forum.number_in(forum.links_of(row)[0]["url"]) for row in found]
        if len(found) < len(rows) or not view.find_all("link", "Next"):
            break
        yield view.click("link", "Next")
    for thread in chosen:
        yield from forum.arrange(view, thread, status="Planned", label=label)
