"""Opens every attachment in turn, and types what is left after the refunds."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")

FOLDER = "/home/user/Attachments"
BRANCHES = ("harbour-street", "old-market", "station")


def solve(view):
    sheet = re.search(r"/home/user/(takings-\w+\.xlsx)", view.instruction)[1]
    net = []
    for branch in BRANCHES:
        yield from office.open_file(view, f"{FOLDER}/{branch}.xlsx")
        yield from office.cells_come(view, "C8")
        shown = office.cells(view)
        weeks = [(shown[f"B{row}"], shown[f"C{row}"]) for row in range(5, 9)]
        net.append([f"{office.amount(b) - office.amount(c):.2f}" for b, c in weeks])
        yield from office.close_file(view)
    yield from office.switch_to(view, f"^{sheet}")
    yield from office.enter(view, "B5", net)
    yield from office.save(view)
