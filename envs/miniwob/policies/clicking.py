"""Policies for pages on which the right things are to be clicked."""

from __future__ import annotations

import re

from .base import click, click_ref, quoted, submit, task, texts, until_free, wait


def button_one(view):
    yield click(view, "button", re.compile("ONE|Click Me!"))


def named_button(view):
    yield click(view, "button", quoted(view)[0])


def sequence(view):
    yield click(view, "button", "ONE")
    yield click(view, "button", "TWO")


def close_dialog(view):
    yield click(view, "button", "Close")


def dialog_button(view):
    label = quoted(view)[0]
    yield click(view, "button", "Close" if label == "x" else label)


def link(view):
    yield click(view, "clickable", quoted(view)[0])


def option(view):
    yield click(view, "radio", re.search(r"Select (.+) and click", task(view))[1].strip())
    yield submit(view)


def checkboxes(view):
    wanted = re.search(r"Select (.*) and click", task(view))[1]
    names = {name.strip() for name in wanted.split(", ")} - {"nothing"}
    for name in sorted(names):
        yield click(view, "checkbox", name)
    yield submit(view)


def choose(view):
    name = re.search(r"Select (.+) from the list", task(view))[1].strip()
    yield view.act("select", ref=view.find("combobox")["ref"], values=[name])
    yield submit(view)


def choose_several(view):
    names = re.search(r"Select (.+) from the scroll", task(view))[1]
    values = [name.strip() for name in names.split(",")]
    yield view.act("select", ref=view.find("listbox")["ref"], values=values)
    yield submit(view)


def expand(view):
    yield click(view, "tab", re.compile("Section.*"))
    yield from until_free(view, "button", "Submit")
    yield submit(view)


def expand_and_find(view):
    name = quoted(view)[0]
    for number in range(len(view.find_all("tab"))):
        if view.find_all("clickable", name):
            break
        yield click(view, "tab", None, number)
        yield wait(view, 0.5)
    yield from until_free(view, "clickable", name)
    yield click(view, "clickable", name)


def tab(view):
    yield click(view, "link", re.search(r"Tab #\d+", task(view))[0])


def tab_and_find(view):
    name = quoted(view)[0]
    for number in range(len(view.find_all("tab"))):
        if view.find_all("clickable", name):
            break
        yield click(view, "link", None, number)
    yield click(view, "clickable", name)


def menu(view):
    *folders, last = re.search(r"Select (.+)", task(view))[1].strip().split(">")
    for folder in folders:
        yield view.act("hover", ref=view.find("menuitem", folder)["ref"])
        yield wait(view, 0.6)
    yield click(view, "menuitem", last)


def menu_button(view):
    yield click(view, "button", "Menu")
    name = quoted(view)[-1]
    items = view.find_all("menuitem", name)
    if not items:
        for parent in [node["name"] for node in view.find_all("menuitem")]:
            yield view.act("hover", ref=view.find("menuitem", parent)["ref"])
            yield wait(view, 0.6)
            items = view.find_all("menuitem", name)
            if items:
                break
    yield click_ref(view, items[0])


def widget(view):
    kind = quoted(view)[0]
    role = {"text": "textbox", "textarea": "textbox"}.get(kind, kind)
    found = view.find_all(role)
    # A text area is taller than a text field.
    found.sort(key=lambda node: node["box"][3], reverse=kind == "textarea")
    yield click_ref(view, found[0])


def greatest(view):
    def number(node):
        return int(node["name"]) if node["name"].lstrip("-").isdigit() else -1

    yield click_ref(view, max(view.find_all("clickable"), key=number))
    yield submit(view)


def focus(view):
    yield click(view, "textbox")


def focus_one(view):
    yield click(view, "textbox", None, int(re.search(r"(\d)(st|nd|rd|th)", task(view))[1]) - 1)


def tree(view):
    name = quoted(view)[0]
    opened: set[int] = set()
    for _ in range(40):
        items = labelled(view)
        found = [item for label, item in items if label == name]
        if found:
            yield click_ref(view, found[0])
            return
        folder = next(item for _, item in items if item["ref"] not in opened)
        opened.add(folder["ref"])
        yield click_ref(view, folder)
        yield wait(view)


def labelled(view):
    """Return the items of a list with their labels; the label of an open folder stands in it."""
    nodes = view.nodes
    found = [(node["name"], node) for node in nodes if node["role"] == "clickable"]
    for node, text in zip(nodes, nodes[1:], strict=False):
        if node["role"] == "listitem" and text["role"] == "text":
            found.append((text["name"].strip(), node))
    return sorted(found, key=lambda item: item[1]["ref"])


def odd_or_even(view):
    numbers = [int(text) for text in texts(view)]
    for place, number in enumerate(numbers):
        yield click(view, "button", "Odd" if number % 2 else "Even", place)
    yield submit(view)


def agreement(view):
    names = quoted(view)
    if len(names) < 2 and "Cancel" not in names and "cancel" in task(view):
        yield click(view, "button", "Cancel")
        return
    box = next(node for node in view.find_all("textbox") if not node["name"])
    yield view.act("scroll", ref=box["ref"], direction="down", amount=50)
    if view.find("textbox", "Name").get("disabled"):
        yield wait(view)
    person = next((name for name in names if name not in ("Agree", "Cancel")), None)
    if person:
        yield view.act("type", ref=view.find("textbox", "Name")["ref"], text=person)
    yield click(view, "button", "Cancel" if "Cancel" in names else "Agree")


def phone_book(view):
    name = re.search(r"Find ([\w-]+) in", task(view))[1]
    wanted = re.search(r"their (.+?)\.?$", task(view))[1]
    place = 0 if "phone" in wanted else 1 if "email" in wanted else 2
    for _ in range(20):
        if view.find_all("heading", name):
            break
        yield click(view, "link", ">")
    yield click(view, "clickable", None, place)


def search(view):
    place = int(re.search(r"(\d+)(st|nd|rd|th)", task(view))[1])
    yield view.act("type", ref=view.find("textbox")["ref"], text=quoted(view)[0])
    yield click(view, "button", "Search")
    for _ in range((place - 1) // 3):
        yield click(view, "link", ">")
    results = [
        n
        for n in view.nodes
        if n["role"] in ("link", "clickable") and not re.fullmatch(r"[\d<>]+", n["name"])
    ]
    yield click_ref(view, results[(place - 1) % 3])
