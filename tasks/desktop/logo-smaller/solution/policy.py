"""Scales the logo by the fields of the tool, and saves it under a name with the ending of JPEG."""

import re

from agentgym.task.reference_policy import shared_policies

pictures = shared_policies("desktop", "pictures")

TARGET = "/home/user/Pictures/logo-newsletter.jpg"


def solve(view):
    width = int(re.search(r"at (\d+) pixels", pictures.told(view))[1])
    yield from pictures.choose_tool(view, "Scale")
    yield from pictures.until(view, lambda: len(pictures.numbers(view)) == 2, "the size")
    before = pictures.numbers(view)
    yield from pictures.set_number(view, 0, width)
    height = width * before[1] // before[0]
    if pictures.numbers(view)[1] != height:
        yield from pictures.set_number(view, 1, height)
    yield from pictures.apply(view)
    yield from pictures.save_picture_as(view, TARGET)
