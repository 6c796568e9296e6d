"""Reads the answers in the browser, enters them in the sheet, and books a room by its tool."""

import json
import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")
sheets = shared_policies("desktop", "sheets")

WORDS = {"accepted": "yes", "declined": "no", "tentative": "maybe", "no answer": "open"}
LISTED = range(6, 15)


def ask(view, tool, **arguments):
    """Return the answer of a tool; then look at the screen again."""
    yield view.act(tool, **arguments)
    answer = json.loads(view.observation.text)
    yield view.act("wait", seconds=0)
    return answer


def open_meeting(view, title):
    """Open the page of a meeting by a search, and return its number."""
    yield from sheets.switch_to(view, "Firefox")
    yield from office.element_comes(view, "link", "Calendar")
    yield view.click("link", "Calendar")
    yield from office.element_comes(view, "button", "Search")
    # The name of the field differs from episode to episode.
    yield view.act("type", ref=view.find_all("textbox")[0]["ref"], text=f"{title}\n")
    yield from office.element_comes(view, "link", title)
    yield view.click("link", title)
    yield from office.until(view, lambda: bool(number_of(view)), "the page of the meeting")
    return number_of(view)


def number_of(view):
    """Return the number of the meeting in the address line, or 0 if the line names no meeting."""
    lines = [str(node.get("value")) for node in view.find_all("combobox")]
    found = [re.search(r"/event/(\d+)", line) for line in lines]
    return next((int(one[1]) for one in found if one), 0)


def shown_answers(view):
    """Return the answers that the page shows, by name."""
    answers = {}
    nodes = view.observation.data.get("nodes", [])
    for section, link in zip(nodes, nodes[1:], strict=False):
        if section["role"] == "section" and link["role"] == "link":
            word = section["name"].partition(",")[0]
            if word in WORDS:
                answers[link["name"]] = WORDS[word]
    return answers


def read_answers(view):
    """Return the answers by name, scrolling down until three whole looks have shown nothing new."""
    yield from office.until(view, lambda: bool(shown_answers(view)), "the answers")
    answers, counts = {}, [0]
    while counts[-3:] != [len(answers)] * 3:
        answers.update(shown_answers(view))
        if office.is_whole(view):
            counts.append(len(answers))
        yield view.act("scroll", direction="down", amount=5, x=640, y=500)
    del answers["Erik Pinto"]
    return answers


def solve(view):
    title = office.told(view).partition(" is on ")[0]
    number = yield from open_meeting(view, title)
    answers = yield from read_answers(view)
    yield from sheets.switch_to(view, r"^guests\.xlsx")
    yield from office.cells_come(view, "A6", "A14")
    shown = office.cells(view)
    listed = [shown[f"A{row}"] for row in LISTED]
    new = []
    for name in answers:
        if name not in listed:
            people = yield from ask(view, "contacts_search", text=name)
            new.append([name, people["people"][0]["department"], answers[name]])
    seats = 1 + sum(answer != "no" for answer in answers.values())
    meeting = yield from ask(view, "calendar_get", event=number)
    span = {"start": meeting["start"], "end": meeting["end"]}
    rooms = yield from ask(view, "calendar_list_rooms", office="Berlin", seats=seats, **span)
    room = min((room for room in rooms if room["free"]), key=lambda room: room["seats"])
    yield from ask(view, "calendar_update", event=number, room=room["id"])
    column = [[answers.get(name, "open")] for name in listed]
    yield from office.enter(view, "C6", column)
    yield from office.enter(view, "A15", new)
    # Calc would complete a later "no" to this.
    gone = next(row for row in LISTED if shown[f"A{row}"] not in answers)
    yield from office.enter(view, f"C{gone}", [["not invited"]])
    yield from office.enter(view, "B3", [[room["name"]]])
    yield from office.save(view)
