"""Types into the cells that the tree names, and saves."""

import re


def solve(view):
    meals = re.search(r"spent ([\d.]+\d) on meals", view.instruction)[1]
    for cell, text in (("C4", meals), ("B6", "=SUM(B2:B5)"), ("C6", "=SUM(C2:C5)")):
        for _ in range(20):
            if view.find_all("cell", cell):
                break
            yield view.act("wait", seconds=0.5)
        yield view.act("type", ref=view.find("cell", cell)["ref"], text=text, submit=True)
    for _ in range(20):
        shown = {node["name"]: node.get("value") for node in view.find_all("cell")}
        if shown.get("C6") and shown.get("B6") == "650":
            break
        yield view.act("wait", seconds=0.5)
    yield view.act("press", keys="Control+S")
    yield view.act("wait", seconds=2)
