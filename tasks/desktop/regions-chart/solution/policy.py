"""Types the formulas, selects months and sums, and goes through the chart wizard."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")


def chart(view, title):
    yield from office.go_to(view, "B4:D4")
    yield from office.cells_come(view, "A20", "B11", "D11")
    empty = view.find("cell", "A20")["box"]
    first, last = (view.find("cell", name)["ref"] for name in ("B11", "D11"))
    yield view.act("drag", from_ref=first, to_ref=last, modifiers=["Control"])
    yield view.click("button", "Chart")
    yield from office.window_comes(view, "^Chart Type")
    for page in ("^Data Range", "^Data Series", "^Chart Elements"):
        yield from office.element_comes(view, "button", "Next >")
        yield view.click("button", "Next >")
        yield from office.window_comes(view, page)
    yield view.act("type", text=title)
    yield view.click("button", "Finish")
    yield from office.window_goes(view, "^Chart")
    # The chart is being edited; a click on the sheet ends that.
    yield view.act("click", x=empty[0] + 9, y=empty[1] + 60)
    yield from office.element_comes(view, "button", "Sort Ascending")


def solve(view):
    title = re.search(r"with the title “(.+?)”", office.told(view))[1]
    yield from office.enter(view, "E5", [[f"=SUM(B{row}:D{row})"] for row in range(5, 11)])
    yield from office.enter(view, "B11", [[f"=SUM({column}5:{column}10)" for column in "BCDE"]])
    yield from office.go_to(view, "A11:E11")
    yield view.act("press", keys="Control+B")
    yield from chart(view, title)
    yield from office.save(view)
