"""Reads the rules in the editor and sets them in its dialog of preferences."""

import re

from agentgym.task.reference_policy import shared_policies

settings = shared_policies("desktop", "settings")


def solve(view):
    yield from settings.element_comes(view, "textbox", "")
    note = view.find("textbox")["value"]
    tab = int(re.search(r"shown (\d+) characters wide", note)[1])
    margin = int(re.search(r"at column (\d+)", note)[1])
    yield from settings.element_comes(view, "menu", "Edit")
    yield view.click("menu", "Edit")
    yield from settings.element_comes(view, "menuitem", "Preferences...")
    yield view.click("menuitem", "Preferences...")
    yield from settings.window_comes(view, "^Mousepad Preferences")
    yield from settings.switch(view, "Show line numbers")
    yield from settings.switch(view, "Long line margin at column:")
    yield from settings.number_beside(view, "Long line margin at column:", margin)
    yield from settings.open_tab(view, "Editor")
    yield from settings.number_beside(view, "Tab width:", tab)
    yield view.click("combobox", "Insert Tabs")
    yield view.act("press", keys="Down Return")
    yield from settings.element_comes(view, "combobox", "Insert Spaces")
    yield view.act("press", keys="Escape")
    yield from settings.window_goes(view, "^Mousepad Preferences")
