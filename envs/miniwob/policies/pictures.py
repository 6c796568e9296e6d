"""Policies for pages whose drawings have places, colours and shapes."""

from __future__ import annotations

import math
import re

from .base import centre, click, click_at, click_ref, shapes, submit, task

KINDS = {"rect": "rectangle", "polygon": "triangle", "circle": "circle"}


def kind(node) -> str:
    if node["shape"] == "text":
        return "digit" if node["name"].isdigit() else "letter"
    return KINDS[node["shape"]]


def is_large(node) -> bool:
    if node["shape"] == "text":
        return node["box"][3] > 15
    return max(node["box"][2:]) > 15


def fits(node, words: str) -> bool:
    wanted = words.lower().split()
    for word in wanted:
        singular = word.rstrip("s")
        if word in ("small", "large"):
            if is_large(node) != (word == "large"):
                return False
        elif singular in ("item", "object", "shape", "thing", "a", "an", ""):
            continue
        elif singular in ("rectangle", "triangle", "circle", "letter", "digit", "number"):
            if kind(node) != ("digit" if singular == "number" else singular):
                return False
        elif len(word) == 1 or word.isdigit():
            if node["name"].lower() != word:
                return False
        elif node["color"] != word:
            return False
    return True


def ascending(view):
    places = {node["name"]: centre(node) for node in shapes(view, "text")}
    for number in sorted(places, key=int):
        yield click_at(view, *places[number])


def shape(view):
    words = re.search(r"Click on an? (.+)", task(view))[1].rstrip(".")
    yield click_ref(view, next(n for n in shapes(view) if fits(n, words)))


def count(view):
    words = re.search(r"How many (.+?) are there", task(view))[1]
    yield click(view, "button", str(sum(fits(n, words) for n in shapes(view))))


def identify(view):
    found = shapes(view)[0]
    names = {"digit": "Number", "letter": "Letter"}
    name = kind(found)
    yield click(view, "button", names.get(name, name.capitalize()))


def mark(view, x: float, y: float):
    """Put the mark of the page at a point: see where a click puts it, and click again."""
    before = [node["ref"] for node in shapes(view)]
    yield click_at(view, x, y)
    new = [node for node in shapes(view, "circle") if node["ref"] not in before]
    if new:
        u, v = centre(new[-1])
        if (u, v) != (x, y):
            yield click_at(view, 2 * x - u, 2 * y - v)


def middle_of_circle(view):
    yield from mark(view, *centre(shapes(view, "circle")[0]))
    yield submit(view)


def midpoint(view):
    (x, y), (u, v) = (centre(node) for node in shapes(view, "circle")[:2])
    yield from mark(view, (x + u) / 2, (y + v) / 2)
    yield submit(view)


def bisect(view):
    circles = shapes(view, "circle")
    x, y = centre(next(n for n in circles if n["color"] == "blue"))
    ways = []
    for node in circles:
        if node["color"] != "blue":
            u, v = centre(node)
            length = math.hypot(u - x, v - y)
            ways.append(((u - x) / length, (v - y) / length))
    a, b = ways[0][0] + ways[1][0], ways[0][1] + ways[1][1]
    length = math.hypot(a, b)
    yield from mark(view, x + 35 * a / length, y + 35 * b / length)
    yield submit(view)


def right_angle(view):
    circles = shapes(view, "circle")
    x, y = centre(next(n for n in circles if n["color"] == "blue"))
    u, v = centre(next(n for n in circles if n["color"] != "blue"))
    left, top, width, height = view.find("image")["box"]
    length = math.hypot(u - x, v - y)
    for sign in (1, -1):
        a, b = x - sign * 25 * (v - y) / length, y + sign * 25 * (u - x) / length
        if left < a < left + width and top < b < top + height - 5:
            yield from mark(view, a, b)
            break
    yield submit(view)


def grid(view):
    x, y = (int(n) for n in re.search(r"\((-?\d+), ?(-?\d+)\)", task(view)).groups())
    places = [centre(n) for n in shapes(view, "circle")]
    columns, rows = sorted({round(p[0]) for p in places}), sorted({round(p[1]) for p in places})
    # Neighbouring pixels are one line of the grid.
    columns, rows = distinct(columns), distinct(rows)
    middle_x, middle_y = columns[len(columns) // 2], rows[len(rows) // 2]
    step = columns[1] - columns[0]
    yield click_at(view, middle_x + x * step, middle_y - y * step)


def distinct(values: list[int]) -> list[int]:
    found: list[int] = []
    for value in values:
        if not found or value - found[-1] > 3:
            found.append(value)
    return found


def line(view):
    x, y = centre(shapes(view, "circle")[0])
    left, top, width, height = view.find("image")["box"]
    if "vertical" in task(view):
        ends = (x, max(top + 6, y - 45), x, min(top + height - 12, y + 45))
    else:
        ends = (max(left + 6, x - 45), y, min(left + width - 12, x + 45), y)
    yield view.act("drag", **dict(zip(("from_x", "from_y", "to_x", "to_y"), ends, strict=True)))
    yield submit(view)
