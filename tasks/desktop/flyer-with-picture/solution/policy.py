"""Reads the brief, cuts and scales the photograph, completes the flyer and exports it."""

import re

from agentgym.task.reference_policy import shared_policies

files = shared_policies("desktop", "files")
pictures = shared_policies("desktop", "pictures")
sheets = shared_policies("desktop", "sheets")
writer = shared_policies("desktop", "writer")

FOLDER = "/home/user/Flyer"
MARK = "[Picture here]"
NAMES = ("When", "Where")


def changed(brief):
    """Return the two lines of the brief, as its end has changed them."""
    lines = {name: re.search(rf"^{name}: (.+)$", brief, re.MULTILINE)[1] for name in NAMES}
    change = brief.partition("Change of this morning")[2]
    new, old = re.search(r"(Quay \d+|\d+ pm) and not (?:at )?(Quay \d+|\d+ pm)", change).groups()
    return {name: line.replace(old, new, 1) for name, line in lines.items()}


def solve(view):
    yield from writer.window_comes(view, r"^flyer\.docx")
    yield from writer.element_comes(view, "button", "Save")
    yield from sheets.switch_to(view, "brief.txt")
    brief = files.text(view)
    strip = int(re.search(r"lowest (\d+) pixels", brief)[1])
    width = int(re.search(r"width of\s+(\d+) pixels", brief)[1])
    picture = f"{FOLDER}/{re.search(r'save it as (.+[.]png)', brief)[1]}"
    export = f"{FOLDER}/{re.search(r'Name of the PDF: (.+[.]pdf)', brief)[1]}"

    yield from sheets.switch_to(view, "^Drawing")
    yield from pictures.choose_tool(view, "Crop")
    yield from pictures.until(view, lambda: len(pictures.numbers(view)) == 2, "the size")
    height = pictures.numbers(view)[1] - strip
    yield from pictures.set_number(view, 1, height)
    yield from pictures.apply(view)
    yield from pictures.scale_to_width(view, width)
    yield from pictures.save_picture_as(view, picture)

    yield from sheets.switch_to(view, r"^flyer\.docx")
    yield from writer.find_text(view, MARK)
    yield view.act("press", keys="Delete")
    yield from writer.insert_picture(view, picture)
    yield from writer.anchor_as_character(view)
    for name, line in changed(brief).items():
        yield from writer.replace_all(view, f"{name}: {'_' * 24}", f"{name}: {line}")
    yield from writer.save(view)
    yield from writer.export_pdf(view, export)
