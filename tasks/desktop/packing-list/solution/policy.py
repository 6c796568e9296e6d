"""Reads the list from the editor, types it corrected, and saves."""

import re


def solve(view):
    told = " ".join(view.instruction.split())
    wrong, right = re.search(r"says “(.+?)”, it should say “(.+?)”", told).groups()
    item = re.search(r"and “(.+?)” is missing", told)[1]
    field = view.find("textbox")
    text = field["value"].replace(wrong, right).rstrip("\n")
    yield view.act("type", ref=field["ref"], text=f"{text}\n{item}\n")
    yield view.act("press", keys="Control+S")
    for _ in range(20):
        titles = [window["title"] for window in view.observation.data["windows"]]
        if not any(title.startswith("*") for title in titles):
            return
        yield view.act("wait", seconds=0.5)
