"""Policies for pages on which things are dragged."""

from __future__ import annotations

import re

from .base import centre, shapes, submit, task


def drag(view, start, end):
    names = ("from_x", "from_y", "to_x", "to_y")
    return view.act("drag", **dict(zip(names, (*start, *end), strict=True)))


def listed(view):
    nodes = view.nodes
    return [
        (after["name"].strip(), node)
        for node, after in zip(nodes, nodes[1:], strict=False)
        if node["role"] == "listitem" and after["role"] == "text"
    ]


def item(view):
    name = re.search(r"Drag ([\w-]+)", task(view))[1]
    items = listed(view)
    place = next(i for i, (label, _) in enumerate(items) if label == name)
    text = task(view)
    found = re.search(r"(\d)(st|nd|rd|th) position", text)
    if " up by" in text or " down by" in text:
        target = place + (-1 if " up by" in text else 1)
    elif found:
        target = int(found[1]) - 1
    else:
        target = 0 if "top" in text else len(items) - 1
    x, y = centre(items[place][1])
    u, v = centre(items[target][1])
    yield drag(view, (x, y), (u, v + (8 if target > place else -8)))


def sort(view):
    for place in range(len(listed(view)) - 1):
        items = listed(view)
        numbers = [int(label) for label, _ in items]
        smallest = min(range(place, len(numbers)), key=lambda i: numbers[i])
        if smallest != place:
            x, y = centre(items[smallest][1])
            u, v = centre(items[place][1])
            yield drag(view, (x, y), (u, v - 8))
    yield submit(view)


def one_way(view):
    x, y = centre(shapes(view)[0])
    text = task(view)
    across = 35 * ((" right" in text) - (" left" in text))
    along = 35 * ((" down" in text) - (" up" in text))
    yield drag(view, (x, y), (x + across, y + along))
    yield submit(view)


def into_box(view):
    wanted = {"triangle": "polygon", "rectangle": "rect", "circle": "circle"}
    name = re.search(r"Drag all (\w+?)s? into", task(view))[1]
    (box,) = [n for n in shapes(view, "rect") if n["color"] == "none"]
    left, top, width, height = box["box"]
    places = [
        (left + width * (1 + i % 2 * 2) / 4, top + height * (1 + i // 2) / 4) for i in range(6)
    ]
    # Each drag redraws the picture, so the shapes are found anew.
    for place in places:
        rest = [
            n for n in shapes(view, wanted[name]) if n["color"] != "none" and not inside(n, box)
        ]
        if not rest:
            break
        yield drag(view, centre(rest[0]), place)
    yield submit(view)


def into_two_boxes(view):
    text = task(view)
    words = re.search(r"Drag all (.+?) into the (left|right) box", text)
    what, side = words.groups()
    boxes = sorted(
        (n for n in shapes(view, "rect") if n["color"] == "none"), key=lambda n: n["box"][0]
    )
    for number in range(12):
        rest = [
            n for n in shapes(view) if n["color"] != "none" and not any(inside(n, b) for b in boxes)
        ]
        if not rest:
            break
        here = described(rest[0], what) == (side == "left")
        left, top, width, height = boxes[0 if here else 1]["box"]
        spot = (left + width * (1 + number % 3) / 4, top + height * (1 + number // 3 % 3) / 4)
        yield drag(view, centre(rest[0]), spot)
    yield submit(view)


def described(node, what: str) -> bool:
    shape = {"rect": "rectangle", "polygon": "triangle", "circle": "circle"}[node["shape"]]
    return node["color"] in what.split() or shape in what


def inside(node, box) -> bool:
    x, y = centre(node)
    left, top, width, height = box["box"]
    return left <= x <= left + width and top <= y <= top + height


def resize(view):
    x, y, width, height = view.find("textbox")["box"]
    text = task(view)
    grow = 40 if "larger" in text else -25
    across, along = (grow, 0) if "width" in text else (0, grow)
    corner = (x + width - 4, y + height - 4)
    yield drag(view, corner, (corner[0] + across, corner[1] + along))
    yield submit(view)
