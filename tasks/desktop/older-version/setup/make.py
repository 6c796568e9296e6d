"""A plan that was overwritten, and an archive of its folder of several days."""

import datetime
import os
import random
import zipfile
from pathlib import Path

from documents import HOME, finish, parameters

TREES = ("Gravenstein", "Boskoop", "Cox", "Conference", "Quetsche", "Morello", "Quince")
SHOPPING = ("Bread", "Oat milk", "Coffee", "Washing powder", "Batteries AA", "Cat food", "Rice")
FIRMS = ("Holloway", "Bellamy", "Arkwright")


def plan(version):
    """Return the plan as it was; every version is a little further than the one before."""
    rows = [f"Row {n + 1}: {tree}, {3 + counts[n]} trees" for n, tree in enumerate(trees)]
    rows[version % 5] += ", ordered" if version % 2 else ", waits for the soil test"
    return "\n".join(
        [
            "Orchard behind the barn, plan",
            "",
            *rows,
            "",
            f"Fence: {140 + 5 * version} m, offer of {firms[version % 3]} from January",
            f"Water: tank of {800 + 100 * version} l beside the shed",
            f"Costs so far: {1210 + 85 * version + cents[version]} EUR",
            "",
        ]
    )


def notes(version):
    """Return the notes as they were."""
    lines = (
        "Ask Greta for the ladder.",
        "Voles! Baskets for the roots.",
        "Stakes: 60.",
        "No glue.",
    )
    more = ("Bees: beekeeper comes in April.", "Gate key hangs in the kitchen.")
    return "\n".join((*lines, *more)[: 2 + version]) + "\n"


given = parameters()
draw = random.Random(given["seed"])
trees = draw.sample(TREES, 5)
counts = [draw.randrange(6) for _ in trees]
firms = draw.sample(FIRMS, 3)
cents = draw.sample(range(80), 6)
lost = datetime.datetime.strptime(given["day"], "%d %B %Y").date()
step = draw.randrange(3, 6)
# Four backups have the plan, then one of the same evening and a later one have the list.
days = [lost + datetime.timedelta(days=step * n - draw.randrange(2)) for n in (-4, -3, -2, -1)]
days += [lost, lost + datetime.timedelta(days=step)]
shopping = "\n".join(["Saturday", "", *draw.sample(SHOPPING, 5)]) + "\n"

archive = HOME / "Backups" / "orchard.zip"
archive.parent.mkdir()
with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
    for version, day in enumerate(days):
        stamp = (day.year, day.month, day.day, 23, 0, 0)
        texts = {
            "plan.txt": plan(version) if day < lost else shopping,
            "notes.txt": notes(min(version, 3)),
            "budget.txt": f"Until {day}: {1210 + 85 * version} of 2400 EUR\n",
        }
        for name, text in texts.items():
            member = zipfile.ZipInfo(f"{day}/{name}", stamp)
            member.external_attr = 0o100644 << 16
            made.writestr(member, text, zipfile.ZIP_DEFLATED)
folder = HOME / "Orchard"
folder.mkdir()
(folder / "plan.txt").write_text(shopping)
(folder / "notes.txt").write_text(notes(4))
(folder / "budget.txt").write_text("Spent until today: 1690 of 2400 EUR\n")
Path(os.environ["AGENTGYM_GOLD"], "plan.txt").write_text(plan(3))
finish("thunar /home/user/Orchard")
