"""Goes to the hidden folder, opens the settings, and types the two lines of the job anew."""

import re

from agentgym.task.reference_policy import shared_policies

files = shared_policies("desktop", "files")
moves = shared_policies("desktop", "moves")

TASK = re.compile(r"copies (\w+) to the (.+?) takes .* keep (\d+) copies .* start at ([\d:]+)\.")


def places(text, source, target):
    """Return the numbers of the lines of the job, by their keys."""
    found, to, of = {}, "", ""
    for number, line in enumerate(text.splitlines()):
        if line.startswith("["):
            found, to, of = {}, "", ""
        key, _, value = (part.strip() for part in line.partition("="))
        found[key] = number
        to = value if key == "target" else to
        of = value if key == "source" else of
        if key == "at" and of.endswith(f"/{source}") and target in to:
            return found
    raise LookupError(f"no job copies {source} to {target}")


def solve(view):
    source, target, keep, at = TASK.search(moves.told(view)).groups()
    yield from files.go_to_folder(view, "/home/user/.nightly")
    yield from files.open_entry(view, "jobs.ini", "jobs.ini - Mousepad")
    before = yield from moves.copy_all(view, "job-2023")
    job = places(before, source, target.split()[0])
    yield from files.replace_line(view, job["keep"], f"keep = {keep}")
    yield from files.replace_line(view, job["at"], f"at = {at}")
    yield from moves.copy_all(view, f"keep = {keep}\nat = {at}")
    yield from files.save_text(view)
