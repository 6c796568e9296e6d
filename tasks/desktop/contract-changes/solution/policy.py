"""Selects the recorded changes of one person after the other in their list, and decides them."""

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")

DECISIONS = {"Miriam Adler": "Accept", "Castellan Legal": "Reject"}


def rows(view):
    return [node for node in view.find_all("cell") if node["name"] in DECISIONS]


def shorter(view, count):
    """Wait until the list has another number of lines."""
    yield from office.until(view, lambda: len(rows(view)) != count, "the shorter list")


def solve(view):
    yield from office.menu(view, "Edit", "Track Changes", "Manage")
    yield from office.window_comes(view, "^Manage Changes")
    yield from office.until(view, lambda: rows(view), "the list of changes")
    while shown := rows(view):
        first, *others = [row for row in shown if row["name"] == shown[0]["name"]]
        yield view.act("click", ref=first["ref"])
        for row in others:
            yield view.act("click", ref=row["ref"], modifiers=["Control"])
        yield view.click("button", DECISIONS[first["name"]])
        yield from shorter(view, len(shown))
    yield view.click("button", "Close")
    yield from office.window_goes(view, "^Manage Changes")
    yield from office.save(view)
