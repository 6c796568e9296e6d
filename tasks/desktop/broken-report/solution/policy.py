"""Reads the report by the clipboard, and repairs it with the search bar and the replace dialog."""

import re

from agentgym.task.reference_policy import shared_policies

writer = shared_policies("desktop", "writer")

HEADING = re.compile(r"(?m)^(\d(?:\.\d)?) [A-Z][^.\n]{0,40}$")


def solve(view):
    old, new = re.search(r"(\w+) has to be (\w+) everywhere", writer.told(view)).groups()
    text = yield from writer.copy_all(view, HEADING.pattern)
    quoted = re.search(rf"“[^”]*?((?:\S+ ){{2}}){old}", text)[1]
    yield view.act("press", keys="Control+Home")
    for heading in HEADING.finditer(text):
        yield from writer.find_text(view, heading[0])
        yield view.act("press", keys=f"Control+{2 if '.' in heading[1] else 1}")
    yield from writer.replace_all(view, old, new)
    yield from writer.find_text(view, f"{quoted}{new}")
    yield view.act("type", text=f"{quoted}{old}")
    yield from writer.remove_empty_paragraphs(view)
    yield from writer.save(view)
