"""Opens every paper, and sorts the folder by what the papers say."""

import datetime
import re

from agentgym.task.reference_policy import shared_policies

files = shared_policies("desktop", "files")
moves = shared_policies("desktop", "moves")

FOLDER = "/home/user/Handover"
STAY = ("contacts.txt", "index.txt")
STATE = re.compile(r"(Final version|Draft) of (.+)")


def day_of(text):
    """Return a date written with the name of its month."""
    return datetime.datetime.strptime(text, "%d %B %Y").date()


def solve(view):
    limit = day_of(re.search(r"from before (.+?) are", moves.told(view))[1])
    yield from files.maximize(view)
    names = yield from files.names(view)
    places = {"Final": [], "Drafts": [], "Pictures": [], "": []}
    for name in names:
        if name in STAY:
            continue
        if not name.endswith(".txt"):
            places["Pictures"].append(name)
            continue
        yield from files.open_entry(view, name)
        state, day = STATE.match(files.text(view)).groups()
        yield from files.close_window(view)
        if state != "Draft":
            places["Final"].append(name)
        elif day_of(day) < limit:
            places[""].append(name)
        else:
            places["Drafts"].append(name)
    yield from files.delete(view, places[""])
    for place in ("Final", "Drafts", "Pictures"):
        yield from files.new_folder(view, place)
        yield from files.move(view, FOLDER, places[place], f"{FOLDER}/{place}")
    yield from files.open_entry(view, "index.txt")
    first = files.text(view).split("\n")[0]
    yield from files.retype(view, "\n".join([first, *sorted(places["Final"])]) + "\n")
    yield from files.save_text(view)
