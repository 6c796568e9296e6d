"""Reads what the accountant wrote, tries his other password, and gives up."""

import re

from agentgym.task.reference_policy import shared_policies

files = shared_policies("desktop", "files")
moves = shared_policies("desktop", "moves")

REASON = "q3-takings.zip asks for a password, and the letter says that it is not written down."


def solve(view):
    yield from files.open_entry(view, "from-falk.txt")
    other = re.search(r"q2-takings.zip opens with (\S+)", files.text(view))[1]
    yield from files.close_window(view)
    yield from files.open_entry(view, "q3-takings.zip")
    yield from moves.element_comes(view, "label", re.compile("2 files.*"))
    yield view.act("press", keys="Control+E")
    yield from moves.window_comes(view, "^Extract files$")
    yield from moves.element_comes(view, "label", "Password:")
    field = files.field_after(view, "label", "Password:")
    yield view.act("type", ref=field["ref"], text=f"{other}\n")
    yield from moves.element_comes(view, "label", "An error occurred!")
    yield view.act("give_up", category="locked", subject="q3-takings.zip", reason=REASON)
