"""Compares the texts of the slides with the list, and replaces what differs."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")
slides = shared_policies("desktop", "slides")

PRICE = re.compile(r"(.+): ([\d,]+\.\d\d) EUR")


def solve(view):
    yield from office.switch_to(view, r"^prices")
    yield from office.cells_come(view, "A19", "B19")
    shown = office.cells(view)
    new = {shown[f"A{n}"]: office.amount(shown[f"B{n}"]) for n in range(5, 20)}
    yield from office.switch_to(view, r"^furniture")
    yield from slides.slides_come(view, 5)
    stale = []
    for title in slides.titles_of_slides(view)[1:]:
        yield from slides.select_slide(view, title)
        yield from office.element_comes(view, "panel", f"PageShape: {title}")
        for line in filter(None, map(PRICE.fullmatch, slides.lines(view))):
            if office.amount(line[2]) != new[line[1]]:
                stale.append(line.groups())
    pairs = [(f"{name}: {price}", f"{name}: {new[name]:,.2f}") for name, price in stale]
    yield from slides.replace_on_slides(view, pairs)
    yield from office.save(view)
