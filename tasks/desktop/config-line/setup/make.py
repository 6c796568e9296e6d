"""The jobs of a backup program: every folder goes to every store, each by a job of its own."""

import random

from documents import HOME, finish, gold, parameters

SOURCES = ("Accounts", "Pictures", "Letters")
TARGETS = {"cellar": "nas-cellar:/backup", "attic": "nas-attic:/copies", "blue disk": "/media/blue"}
COMMENTS = (
    "# Tomas wants this one before the first tram.",
    "# Was weekly until 2024.",
    "# The old key still works, see the binder in the office.",
    "# keep = 60 was too much, the disk was full in May.",
)
HEAD = """\
# nightly 2.4: what is copied while the office sleeps.
# Each section is a job. "keep" is the number of copies that stay; older ones are removed.
# Lines that begin with # are not read.

[general]
log = /var/log/nightly.log
keep = 10
at = 02:00
mail = office@fairlead.example
"""

given = parameters()
draw = random.Random(given["seed"])
pairs = [(source, target) for source in SOURCES for target in TARGETS]
draw.shuffle(pairs)
lines, wanted = HEAD.splitlines(), {}


def job(source, target, mark=""):
    """Return the lines of a job below its name."""
    return [
        f"{mark}source = /srv/office/{source}",
        f"{mark}target = {TARGETS[target]}/{source.lower()}",
        f"{mark}compress = {draw.choice(('yes', 'no'))}",
        f"{mark}keep = {draw.choice((7, 14, 21, 30))}",
        f"{mark}at = {draw.choice(('00:30', '01:10', '01:45', '02:20'))}",
    ]


for number, pair in enumerate(pairs, 1):
    lines += ["", f"[job-{number}]"]
    if draw.random() < 0.5:
        lines.append(draw.choice(COMMENTS))
    lines += job(*pair)
    if pair == (given["source"], given["target"]):
        wanted = {"keep": len(lines) - 2, "at": len(lines) - 1}
lines += ["", "# Out of use since we have job names without a year:", "# [job-2023]"]
lines += job(given["source"], given["target"], "# ")
gold("lines.json", {"lines": lines, "places": wanted})
folder = HOME / ".nightly"
folder.mkdir()
(folder / "jobs.ini").write_text("\n".join(lines) + "\n")
(folder / "state").write_text("last = 2026-03-01T02:41:07\nresult = ok\n")
finish("thunar /home/user")
