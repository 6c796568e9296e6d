"""Sees in the calendar and in the mail that the guests have called the meeting off."""

import re


def solve(view):
    yield view.goto("http://calendar.office.example/find?q=lease&day=2026-03-02")
    yield view.goto("http://mail.office.example/?q=lease&sender=gableproperty")
    yield view.click("link", re.compile(".*(lease|Tuesday|tomorrow).*", re.IGNORECASE))
    assert "pipe" in " ".join(view.texts), view.texts
    yield view.act(
        "submit",
        status="called off",
        brought_about_by="Jae Macedo",
        new_day=None,
    )
