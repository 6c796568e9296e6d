"""Drags, deletes and hides the slides in the slide sorter, where all of them show."""

import re

from agentgym.task.reference_policy import shared_policies

slides = shared_policies("desktop", "slides")


def solve(view):
    late, early, dropped, hidden = re.findall("“(.+?)”", slides.told(view))
    yield from slides.show_as(view, "Slide Sorter")
    yield from slides.slides_come(view, 9)
    before = slides.titles_of_slides(view)
    first, last = before.index(early), before.index(late)
    yield from slides.drag_slide(view, late, first)
    yield from slides.drag_slide(view, early, last)
    yield from slides.select_slide(view, dropped)
    yield view.act("press", keys="Delete")
    yield from slides.slides_come(view, 8)
    yield from slides.select_slide(view, hidden)
    yield from slides.menu(view, "Slide", "Hide Slide")
    yield from slides.save(view)
