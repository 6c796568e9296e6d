"""Writes a week of door logs, the note to be completed, and the note as it should be."""

import gzip
import json
import os
from collections import Counter
from random import Random

params = json.loads(os.environ["AGENTGYM_PARAMS"])
dice = Random(params["seed"])
DOORS = ("archive", "boiler-room", "lab-2", "loading-bay", "main")
badges = [f"B{number:04}" for number in dice.sample(range(200, 900), 14)]
guilty, denied, daily, elsewhere = badges[:4]
entries, opened = [], Counter()


def pass_by(day, hour, door, badge, result="granted"):
    minute, second = dice.randrange(60), dice.randrange(60)
    when = f"2025-05-{day:02}T{hour:02}:{minute:02}:{second:02}"
    entries.append((when, f"{when} door={door} badge={badge} {result}"))
    if door == params["door"] and result == "granted" and (hour < 6 or hour >= 22):
        opened[badge] += 1


others = [door for door in DOORS if door != params["door"]]
for day in range(12, 19):
    for _ in range(60):
        pass_by(day, dice.randrange(6, 22), dice.choice(DOORS), dice.choice(badges))
    for _ in range(5):
        pass_by(day, dice.choice((22, 23, 4, 5)), dice.choice(DOORS), dice.choice(badges[4:]))
    for _ in range(dice.choice((2, 3))):
        pass_by(day, dice.choice((22, 23, 1, 2)), params["door"], guilty)
    # Who is turned away, who comes by day, and who uses other doors, each more often.
    for _ in range(5):
        pass_by(day, dice.choice((23, 0, 3)), params["door"], denied, "denied")
        pass_by(day, dice.choice((6, 7, 20, 21)), params["door"], daily)
        pass_by(day, dice.choice((22, 2, 5)), dice.choice(others), elsewhere)
entries.sort()
os.makedirs("/home/user/doors")
for day in range(12, 19):
    lines = [line for when, line in entries if when.startswith(f"2025-05-{day:02}")]
    text = ("\n".join(lines) + "\n").encode()
    path = f"/home/user/doors/2025-05-{day:02}.log"
    if day < 17:
        path, text = f"{path}.gz", gzip.compress(text, mtime=0)
    with open(path, "wb") as file:
        file.write(text)
(badge, times), second = opened.most_common(2)
assert badge == guilty and times > second[1] + 1
note = "Incident note\n\nDoor: {}\nBadge:{}\nOpened out of hours:{}\nReported to: site office\n"
with open("/home/user/incident.txt", "w") as file:
    file.write(note.format(params["door"], "", ""))
with open(os.path.join(os.environ["AGENTGYM_GOLD"], "incident.txt"), "w") as file:
    file.write(note.format(params["door"], f" {badge}", f" {times}"))
