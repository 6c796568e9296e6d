"""Policies for date pickers, and the flight form that has one."""

from __future__ import annotations

import re

from .base import click, click_at, click_ref, submit, task, until_free, wait

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def pick(view, month: int, day: int):
    """Choose a day of the open calendar's year."""
    for _ in range(14):
        shown = next(
            MONTHS.index(word) + 1
            for n in view.nodes
            for word in re.findall(r"[A-Z][a-z]+", n["name"])
            if word in MONTHS
        )
        if shown == month:
            break
        # The arrows have no references: they stand above the ends of the table.
        left, top, width, _ = view.find("table")["box"]
        yield click_at(view, left + 10 if month < shown else left + width - 10, top - 14)
    days = [
        n
        for n in view.nodes
        if n["name"].strip() == str(day)
        and n.get("ref")
        and n["role"] in ("link", "clickable", "button")
    ]
    yield click_ref(view, days[0])


def date(view):
    month, day, _ = (int(n) for n in re.search(r"(\d+)/(\d+)/(\d+)", task(view)).groups())
    yield click(view, "textbox")
    yield wait(view, 0.3)
    yield from pick(view, month, day)
    yield from until_free(view, "button", "Submit")
    yield submit(view)
