"""Merges the two entries in the address book's pages, and enters the new address and role."""

import re

HOST = "http://contacts.office.example"


def solve(view):
    told = " ".join(view.instruction.split())
    name, company = re.search(r"(.+?) of (.+?) is in our address book twice", told).groups()
    role, email = re.search(r"has “(.+?)” and (\S+@\S+?),", told).groups()
    # An address leads to the page of its owner.
    yield view.goto(f"{HOST}/?q={email}")
    double = view.url.rsplit("/", 1)[-1]
    yield view.goto(f"{HOST}/?q={name.split()[-1]}")
    (proper,) = [
        row for row in view.rows(company) if row[0]["name"] == name and email not in str(row)
    ]
    number = next(node["url"] for node in proper if node["role"] == "link").rsplit("/", 1)[-1]
    yield view.goto(f"{HOST}/person/{double}")
    yield view.click("link", "Merge…")
    yield view.enter("Entry that stays", number, role=view.find(name="Entry that stays")["role"])
    yield view.click("button", "Merge")
    yield view.click("link", "Edit")
    yield view.enter("E-mail address", email)
    yield view.enter("Role", role)
    yield view.click("button", "Save changes")
