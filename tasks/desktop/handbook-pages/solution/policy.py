"""Goes through the dialogs of the export, with the pages of the two chapters."""

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")

PAGES = "3-4"
TARGET = "/home/user/Documents/travel-rules.pdf"


def fields(view):
    """Return the fields that can be filled in and hold nothing: that of the pages."""
    return [
        node
        for node in view.find_all("textbox")
        if not node.get("value") and not node.get("disabled")
    ]


def solve(view):
    yield from office.menu(view, "File", "Export As", "Export as PDF")
    yield from office.window_comes(view, "^PDF Options")
    yield from office.element_comes(view, "radio", "Pages:")
    yield view.click("radio", "Pages:")
    yield from office.until(view, lambda: len(fields(view)) == 1, "the field of the pages")
    yield view.act("type", ref=fields(view)[0]["ref"], text=PAGES)
    yield view.click("button", "Export")
    yield from office.window_comes(view, "^Export")
    yield view.act("type", text=f"{TARGET}\n")
    yield from office.window_goes(view, "^Export")
    yield view.act("wait", seconds=2)
