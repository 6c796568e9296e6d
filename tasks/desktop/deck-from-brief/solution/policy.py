"""Reads the brief by the clipboard, applies its changes, and writes slide after slide."""

import re

from agentgym.task.reference_policy import shared_policies

slides = shared_policies("desktop", "slides")

TARGET = "/home/user/Documents/harbour-street.pptx"
DAY = re.compile(r"\d+ May")


def read(text):
    """Return title and points of every slide, as the end of the brief has changed them."""
    body, _, changes = text.partition("Changes of this morning")
    found = []
    for part in re.split(r"^Slide \d.*$", body, flags=re.MULTILINE)[1:]:
        title = re.search(r"^Title: (.+)$", part, re.MULTILINE)[1]
        points = re.findall(r"^\s*• (?:Subtitle: )?(.+)$", part, re.MULTILINE)
        found.append([title, points])
    found[1][1] = [title for title, _ in found[2:5]]
    days = iter(DAY.findall(changes))
    found[2][1] = [DAY.sub(lambda _: next(days), point) for point in found[2][1]]
    found[3][1] = [point for point in found[3][1] if not point.startswith("Accounts")]
    return found


def solve(view):
    brief = yield from slides.copy_all(view, "Changes of this morning")
    yield from slides.new_presentation(view)
    for number, (title, points) in enumerate(read(brief)):
        if number:
            yield from slides.new_slide(view)
        yield from slides.next_field(view, "Title")
        yield from slides.write_lines(view, [title])
        yield from slides.next_field(view, "Outliner" if number else "Subtitle")
        yield from slides.write_lines(view, points)
    yield from slides.save_as(view, TARGET)
