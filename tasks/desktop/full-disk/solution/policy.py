"""Compares the sizes of all logs twice, and stops and tidies up what has grown most."""

import re

from agentgym.task.reference_policy import shared_policies

moves = shared_policies("desktop", "moves")
terminal = shared_policies("desktop", "terminal")

SIZE = re.compile(r"^(\d+)\s+data/(\S+\.log)$", re.MULTILINE)
UNIT = re.compile(
    r"^\[unit (\d+)\]\s+station = (\S+)\s+file = (\S+)\s+enabled = yes$", re.MULTILINE
)
PROCESS = re.compile(r"^(\d+) /usr/bin/python3 \S+/collect\.py (\d+)$", re.MULTILINE)


def sizes(view):
    """Return the sizes of the logs by their names."""
    told = yield from terminal.run(view, "du -b data/*/*.log")
    return {name: int(size) for size, name in SIZE.findall(told)}


def solve(view):
    work = re.search(r"below /home/user/(\w+)/data", moves.told(view))[1]
    yield from terminal.run(view, f"cd /home/user/{work}")
    before = yield from sizes(view)
    yield view.act("wait", seconds=5)
    after = yield from sizes(view)
    log = max(after, key=lambda name: after[name] - before[name])
    listed = "grep -E '^(.unit|station|file|enabled)' units.ini | paste - - - -"
    units = UNIT.findall((yield from terminal.run(view, listed)))
    (unit,) = (number for number, station, file in units if f"{station}/{file}" == log)
    running = PROCESS.findall((yield from terminal.run(view, "pgrep -af collect.py")))
    (process,) = (pid for pid, number in running if number == unit)
    yield from terminal.run(view, f"kill {process}")
    yield from terminal.run(view, f"while kill -0 {process} 2>/dev/null; do sleep 0.2; done")
    yield from terminal.run(view, f"gzip data/{log}")
    yield from terminal.run(view, f"rm data/{log.split('/')[0]}/*.part")
    section = rf"/^\[unit {unit}\]/,/^enabled/"
    yield from terminal.run(view, f"sed -i '{section}s/^enabled = yes/enabled = no/' units.ini")
