"""Policies use these to read the task's text and to find elements."""

from __future__ import annotations

import re


def task(view) -> str:
    """Return the text in the bar at the top of the page."""
    return next(node["name"] for node in view.nodes if node["role"] == "text").strip()


def quoted(view) -> list[str]:
    """Return what the task's text has in quotation marks."""
    return [text.strip() for text in re.findall(r'"([^"]*)"', task(view))]


def click(view, role: str = "", name=None, number: int = 0, **state):
    """Return a click on the element with this role and name, the first unless `number` says."""
    return view.act("click", ref=view.find_all(role, name, **state)[number]["ref"])


def click_ref(view, node):
    """Return a click on a node."""
    return view.act("click", ref=node["ref"])


def click_at(view, x: float, y: float):
    """Return a click on a point of the viewport."""
    return view.act("click", x=x, y=y)


def press(view, keys: str, node=None):
    """Return a press of keys, on a node if one is given."""
    more = {} if node is None else {"ref": node["ref"]}
    return view.act("press", keys=keys, **more)


def enter(view, node, text: str):
    """Return typing of a text into a field."""
    return view.act("type", ref=node["ref"], text=text)


def submit(view, name: str = "Submit"):
    """Return a click on the button that ends the task."""
    return click(view, "button", name)


def centre(node) -> tuple[float, float]:
    """Return the centre of a node's box, in pixels of the viewport."""
    x, y, width, height = node["box"]
    return x + width / 2, y + height / 2


def wait(view, seconds: float = 0.3):
    """Return a wait."""
    return view.act("wait", seconds=seconds)


def shapes(view, shape: str = "") -> list[dict]:
    """Return the shapes of the drawing."""
    return [node for node in view.nodes if node.get("shape") and shape in ("", node["shape"])]


def texts(view) -> list[str]:
    """Return the texts below the task's own, without the page's panel of rewards."""
    found = [node["name"] for node in view.nodes if node["role"] == "text"][1:]
    end = next((place for place, text in enumerate(found) if text.startswith("Last reward")), None)
    return found[:end]


def until_free(view, role: str, name=None):
    """Wait until an element is there and nothing covers it, as while something fades away."""
    for _ in range(20):
        if any(not node.get("covered") for node in view.find_all(role, name)):
            return
        yield wait(view)
