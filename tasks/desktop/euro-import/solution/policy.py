"""Opens the file by the import dialog in German, adds the totals, and saves a workbook."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")

LANGUAGE = "German (Germany)"
DIALOG = "^Text Import"


def box(view, name, checked):
    """Set a box of the dialog, and wait until it shows that."""
    if bool(view.find("checkbox", name).get("checked")) != checked:
        yield view.click("checkbox", name)
    yield from office.until(
        view, lambda: bool(view.find("checkbox", name).get("checked")) == checked, f"the box {name}"
    )


def language(view):
    """Choose the language of dates and numbers, by typing in its list."""
    beside = view.find("label", "Locale:")["box"]
    fields = view.find_all("togglebutton")
    field = min(fields, key=lambda node: abs(node["box"][1] - beside[1]))
    yield view.act("click", ref=field["ref"])
    yield from office.until(view, lambda: view.find_all("cell", selected=True), "the list")
    yield view.act("type", text=LANGUAGE)
    yield from office.until(
        view, lambda: view.find_all("cell", LANGUAGE, selected=True), f"the entry {LANGUAGE}"
    )
    yield view.act("press", keys="Return")
    yield from office.until(
        view, lambda: not view.find_all("cell", LANGUAGE), "the end of the list"
    )


def solve(view):
    target = re.search(r"/home/user/Documents/sales-\w+\.xlsx", view.instruction)[0]
    yield from office.element_comes(view, "cell", "CSV document")
    yield view.act("click", ref=view.find("cell", "CSV document")["ref"], count=2)
    yield from office.window_comes(view, DIALOG)
    yield from office.element_comes(view, "checkbox", "Detect special numbers")
    yield from box(view, "Comma", False)
    yield from box(view, "Detect special numbers", True)
    yield from language(view)
    yield view.click("button", "OK")
    yield from office.window_goes(view, DIALOG)
    yield from office.cells_come(view, "A2", "E31")
    shown = office.cells(view)
    last = max(row for row in range(2, 31) if shown[f"A{row}"])
    yield from office.enter(view, f"A{last + 1}", [["Total"]])
    sums = [f"=SUM({column}2:{column}{last})" for column in "DE"]
    yield from office.enter(view, f"D{last + 1}", [sums])
    yield from office.save_as(view, target)
