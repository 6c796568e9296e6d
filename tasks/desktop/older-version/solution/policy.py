"""Renames the list, looks for the day in the archive, and extracts the plan of that day."""

import datetime
import re

from agentgym.task.reference_policy import shared_policies

files = shared_policies("desktop", "files")
moves = shared_policies("desktop", "moves")

FOLDER = "/home/user/Orchard"


def solve(view):
    told = re.search(r"On (\d+ \w+ \d{4}) I saved", moves.told(view))[1]
    lost = str(datetime.datetime.strptime(told, "%d %B %Y").date())
    yield from files.rename(view, "plan.txt", "shopping.txt")
    yield from files.go_to_folder(view, "/home/user/Backups")
    yield from files.open_entry(view, "orchard.zip")
    yield from moves.element_comes(view, "label", re.compile(r"\d+ dirs.*"))
    days = [folder.rstrip("/") for folder in (yield from files.archive_folders(view))]
    day = max(day for day in days if day < lost)
    yield from files.show_archive_folder(view, f"{day}/")
    yield from files.extract(view, "plan.txt", FOLDER)
    yield from files.close_window(view, "Alt+F4")
    yield from files.go_to_folder(view, FOLDER)
    yield from files.open_entry(view, "plan.txt")
