"""Makes the channel of those who are in both lists, and posts the form of its first meeting."""

import re

CHAT = "http://chat.office.example"
FORMS = "http://forms.office.example"
MONTHS = ("January", "February", "March", "April")


def solve(view):
    told = " ".join(view.instruction.split())
    source = re.search(r"discussed in #([a-z0-9-]+)", told)[1]
    office = re.search(r"those of us in (\w+)", told)[1]
    name = re.search(r"a channel called ([a-z0-9-]+)", told)[1]
    day, month, at = re.search(r"is on \w+, (\d+) (\w+) at ([\d:]+)", told).groups()
    host = re.search(r"at [\d:]+, and (.+?) takes the minutes", told)[1]
    lists = []
    for channel in (source, office.lower()):
        yield view.goto(f"{CHAT}/?name={channel}")
        yield view.click("link", channel)
        yield view.click("link", "Members")
        found = {}
        for row in view.rows("@"):
            person, handle, status = [n["name"] for n in row if n["role"] == "cell"][:3]
            if status == "active":
                found[handle] = person
        lists.append(found)
    people = [handle for handle in lists[0] if handle in lists[1]]
    mentioned = next(handle for handle in people if lists[0][handle] == host)
    yield view.goto(f"{CHAT}/new")
    yield view.enter("Name", name)
    yield view.enter("People", ", ".join(people))
    yield view.click("checkbox", re.compile("Private.*"))
    yield view.click("button", "Create channel")
    yield view.goto(f"{FORMS}/form/first-meeting")
    yield view.choose("Channel", name)
    yield view.enter("Day", f"2026-{MONTHS.index(month) + 1:02}-{int(day):02}", "date")
    yield view.enter("Time where the members are", at, "time")
    yield view.enter("Who takes the minutes", mentioned)
    yield view.click("button", "Post")
