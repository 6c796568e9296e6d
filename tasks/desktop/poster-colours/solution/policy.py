"""Finds the grey field on the screen and the name below it in the note, and draws a rectangle."""

import re

from agentgym.task.reference_policy import shared_policies

pictures = shared_policies("desktop", "pictures")

GREY = (142, 142, 147)
LINE = re.compile(r"(\w+) +(#[0-9A-F]{6})")


def field(view):
    """Return left, top, right and bottom of the grey field; the last two are beyond it."""
    grey = (abs(pictures.screen(view) - GREY) < 2).all(axis=2)
    down = (grey.sum(axis=1) > 200).nonzero()[0]
    across = (grey.sum(axis=0) > 200).nonzero()[0]
    return int(across[0]), int(down[0]), int(across[-1]) + 1, int(down[-1]) + 1


def solve(view):
    yield from pictures.switch_to(view, r"^~/colours\.txt")
    yield from pictures.until(view, lambda: view.find_all("textbox"), "the note")
    colours = dict(LINE.findall(view.find("textbox")["value"]))
    yield from pictures.switch_to(view, r"^(Drawing|poster\.png)$")
    yield from pictures.choose_tool(view, "Shape")
    for name in ("Rectangle", "Main color", "No outline"):
        yield from pictures.option(view, "Shape", name)
    left, top, right, bottom = field(view)
    # The fields stand from left to right as the rooms do in the note.
    room = list(colours)[(left - pictures.CANVAS[0]) * 3 // 960]
    yield from pictures.set_colour(view, colours[room])
    yield view.act("drag", from_x=left, from_y=top, to_x=right, to_y=bottom)
    yield from pictures.save_picture(view)
