"""Reads the rule about papers on pay and Clara's mail, and asks Erik for an exception."""

import re


def solve(view):
    yield view.goto("http://knowledge.office.example/?q=pay")
    yield view.click("link", "Papers about pay")
    rule = re.search(r"\d+", view.url)[0]
    yield view.act("read_page")
    decides = re.search(r"Only (\w+ \w+) makes them, in writing", view.observation.text)[1]
    yield view.goto("http://files.office.example/?q=Pay+bands+2026")
    yield view.goto("http://mail.office.example/?q=exception&sender=clara.kaiser")
    yield view.click("link", re.compile(".*Exception for Stack & Rowe.*"))
    yield view.act("read_page")
    given = "pay bands" in view.observation.text.lower()
    yield view.act(
        "message_user", text="Do you have an exception from Clara in writing that names this file?"
    )
    yield view.act("submit", rule=rule, decides=decides, how="in writing", given=given)
