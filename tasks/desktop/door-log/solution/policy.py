"""Counts in the terminal, and puts what it shows into the note."""

import re

from agentgym.task.reference_policy import shared_policies

moves = shared_policies("desktop", "moves")
COUNT = (
    "zcat -f doors/* | grep 'door={door} .*granted' | grep -E 'T(0[0-5]|2[23]):'"
    " | cut -d' ' -f3 | sort | uniq -c | sort -rn | head -n 2; echo all counted\n"
)


def solve(view):
    door = re.search(r"uses the door ([\w-]+)", moves.told(view))[1]
    yield view.act("type", text=COUNT.format(door=door))
    yield from moves.until(view, lambda: "\nall counted" in shown(view), "the count")
    times, badge = re.search(r"^ *(\d+) badge=(\w+)$", shown(view), re.MULTILINE).groups()
    yield from moves.switch_to(view, "incident")
    yield view.act("press", keys="Control+Home Down Down Down End")
    yield view.act("type", text=f" {badge}")
    yield view.act("press", keys="Down End")
    yield view.act("type", text=f" {times}")
    yield view.act("press", keys="Control+S")
    yield from moves.until(view, lambda: not moves.focused_title(view).startswith("*"), "the save")


def shown(view):
    return view.find("terminal").get("value", "")
