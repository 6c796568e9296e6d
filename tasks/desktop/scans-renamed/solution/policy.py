"""Opens every scan, reads who wrote it and when, and renames it."""

import datetime
import re

from agentgym.task.reference_policy import shared_policies

files = shared_policies("desktop", "files")
moves = shared_policies("desktop", "moves")

SCANS = [f"scan_{number:04d}.pdf" for number in range(1, 10)]
FORMS = {
    r"\d{4}-\d\d-\d\d": "%Y-%m-%d",
    r"\d\d\.\d\d\.\d{4}": "%d.%m.%Y",
    r"\d\d? [A-Z][a-z]+ \d{4}": "%d %B %Y",
    r"[A-Z][a-z]+ \d\d?, \d{4}": "%B %d, %Y",
}


def written(line):
    """Return the date that a line ends with; None if it is no line of a date."""
    for pattern, form in FORMS.items():
        found = re.fullmatch(rf"(?:[A-Z][a-z]+, )?({pattern})", line)
        if found:
            return datetime.datetime.strptime(found[1], form).date()
    return None


def name_for(text):
    """Return the name of a letter, by its head and the first line that is a date."""
    if "Yours sincerely" not in text:
        return None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    day = next(day for line in lines if (day := written(line)))
    return f"{day} {lines[0].split()[0]}.pdf"


def solve(view):
    names = {}
    for scan in SCANS:
        yield from files.open_entry(view, scan)
        names[scan] = name_for((yield from moves.copy_all(view, "[a-z]")))
        yield from files.close_window(view)
    for scan, name in names.items():
        if name:
            yield from files.rename(view, scan, name)
