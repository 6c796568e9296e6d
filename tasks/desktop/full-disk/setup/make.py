"""Seven units collect data; one writes far more than the others, not into the largest log."""

import json
import os
import random
import shutil
from pathlib import Path

from documents import HOME, finish, gold, parameters

STATIONS = {
    "river": ("bridge", "ferry", "lock", "mill", "quarry", "weir"),
    "traffic": ("castle-road", "market", "north-gate", "ring-east", "station", "tunnel"),
    "weather": ("airfield", "forest", "harbour", "hill", "orchard", "tower"),
}
KINDS = {"river": "level", "traffic": "cars", "weather": "wind"}
# Sizes of logs in lines of about 40 bytes; what is largest does not grow.
LARGEST, LARGE, RUNAWAY = 190_000, 150_000, 36_000

given = parameters()
draw = random.Random(given["seed"])
work = given["work"]
home = HOME / work
stations = list(STATIONS[work])
draw.shuffle(stations)
busy = stations[0]
wild = draw.randrange(12, 49)
# A pattern that fits the number of the wild unit fits this one, too.
longer = wild * 10 + draw.randrange(10)
others = draw.sample(range(50, 99), 5)
files = ["readings.log", "alarms.log"]
draw.shuffle(files)
units = [(wild, busy, files[0]), (longer, busy, files[1])]
units += [(n, s, "readings.log") for n, s in zip(others, stations[1:], strict=True)]
exported = {wild, others[0]}


def lines(unit, kind, count):
    """Return so many lines of a log."""
    level, made = 2.4, []
    for number in range(1, count + 1):
        level = min(4.0, max(1.0, level + draw.uniform(-0.02, 0.02)))
        made.append(f"{number:07d} unit {unit} {kind} {level:.3f} checked\n")
    return "".join(made)


(home / "state").mkdir(parents=True)
parts = []
for place, (unit, station, file) in enumerate(units):
    folder = home / "data" / station
    folder.mkdir(parents=True, exist_ok=True)
    kind = KINDS[work] if file == "readings.log" else "alarm"
    count = RUNAWAY if unit == wild else LARGE if place == 2 else draw.randrange(900, 6_000)
    (folder / file).write_text(lines(unit, kind, count))
    # One unit writes many lines, but seldom.
    pace = {"wait_s": 0.25, "lines": 60} if unit == wild else {"wait_s": 15, "lines": 40}
    if place not in (0, 3):
        pace = {"wait_s": draw.randrange(20, 45) / 10, "lines": 1 + place % 2}
    state = {"last": count, **pace}
    (home / "state" / f"{unit}.json").write_text(json.dumps(state))
for station, count in ((busy, 3), (stations[1], 1), (stations[4], 2)):
    for number in draw.sample(range(101, 999), count):
        name = f"upload-{number}.part"
        (home / "data" / station / name).write_text(lines(number, "piece", 40)[:-25])
        parts.append(f"{station}/{name}")
(home / "data" / stations[3] / "year-2024.csv").write_text(lines(1, "old", LARGEST))
(home / "data" / busy / "year-2025.csv").write_text(lines(2, "old", 800))
(home / "data" / busy / "spare.parts.txt").write_text("2 sensors, 1 cable of 20 m, 4 seals\n")

sections = [(unit, station, file, "yes") for unit, station, file in units]
draw.shuffle(sections)
# The unit that was at the same place before.
old = draw.choice([n for n in range(50, 99) if n not in others])
sections.insert(0, (old, busy, files[0], "no"))
text = f"; Units of our {work} data. What is not enabled is not started.\n"
for unit, station, file, enabled in sections:
    kind = KINDS[work] if file == "readings.log" else "alarm"
    text += f"\n[unit {unit}]\nstation = {station}\nfile = {file}\nkind = {kind}\n"
    text += f"enabled = {enabled}\n"
    text += "export = yes\n" if unit in exported else "export = no\n"
(home / "units.ini").write_text(text)
here = Path(os.environ["AGENTGYM_SETUP"])
for name in ("collect.py", "export.py", "start.sh"):
    shutil.copyfile(here / name, home / name)
gold(
    "case.json",
    {
        "unit": wild,
        "log": f"{busy}/{files[0]}",
        "others": {str(unit): f"{station}/{file}" for unit, station, file in units[1:]},
        "exported": sorted(exported),
        "parts": sorted(parts),
    },
)
terminal = "xfce4-terminal --geometry=130x38 --working-directory=/home/user"
finish(f'sh -c "sh {home}/start.sh; exec {terminal}"')
