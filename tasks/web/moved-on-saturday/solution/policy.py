"""Reads the whole log, works out where each thread was, and moves it back."""

import re
from datetime import datetime

from agentgym.task.reference_policy import shared_policies

forum = shared_policies("web", "forum")
SATURDAY = "2026-02-28"


def solve(view):
    told = " ".join(view.instruction.split())
    who = re.search(r"28 February, (.+?) tidied up", told)[1]
    who = who[who.index("(") + 1 : -1] if "(" in who else who.lower()
    wrong = re.search(r"threads into “(.+?)”", told)[1]
    yield from forum.enter_forum(view, "mara")
    names = boards(view)
    moves = yield from all_moves(view)
    wanted = {}
    for thread, history in moves.items():
        day, by, board = history[-1]
        if (day, by, names[board]) == (SATURDAY, who, wrong):
            before = [to for at, _, to in history[:-1] if at < SATURDAY]
            wanted[thread] = names[before[-1]] if before else "Product help"
    for thread, board in wanted.items():
        yield from forum.arrange(view, thread, board=board)


def boards(view):
    """Return the names of the boards by their short ones, from the menu."""
    return {
        link["url"].rsplit("/", 1)[1]: link["name"] for link in forum.links(view, r"/board/\w+$")
    }


def all_moves(view):
    """Read all pages of the log; return the moves of each thread, the oldest first."""
    entries, page = [], 1
    while True:
        yield view.goto(f"{forum.HOST}/log?page={page}")
        rows = [forum.cells(row) for row in view.rows("thread")]
        entries += [row for row in rows if len(row) >= 4 and row[2].startswith("moved to")]
        if not view.find_all("link", "Next"):
            break
        page += 1
    moves = {}
    for when, by, what, about, *_ in reversed(entries):
        day = datetime.strptime(when.rsplit(",", 1)[0], "%a %d %b %Y").date().isoformat()
        moves.setdefault(int(about.split()[1]), []).append((day, by, what.split()[2]))
    return moves
