"""Collects the values of one unit and writes them into its log: collect.py UNIT."""

import configparser
import json
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# A log of this size has to be put away before more is written.
MOST_BYTES = 40 * 2**20


def last_number(path, otherwise):
    """Return the number of the last line of a log."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - 200))
            return int(file.read().split(b"\n")[-2].split()[0])
    except (OSError, ValueError, IndexError):
        return otherwise


def append(path, lines):
    """Add lines to a log, all or none."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(handle, "".join(f"{line}\n" for line in lines).encode())
    os.close(handle)


def main(unit):
    """Collect until somebody stops it."""
    units = configparser.ConfigParser()
    units.read(f"{HERE}/units.ini")
    place = units[f"unit {unit}"]
    log = f"{HERE}/data/{place['station']}/{place['file']}"
    state_path = f"{HERE}/state/{unit}.json"
    with open(state_path) as file:
        state = json.load(file)
    with open("/proc/1/stat") as file:
        session = file.read().rpartition(")")[2].split()[19]
    number = last_number(log, state["last"]) + 1
    append(log, [f"{number:07d} unit {unit} started in session {session}"])
    level = 2.4
    while True:
        if os.path.exists(log) and os.path.getsize(log) < MOST_BYTES:
            lines = []
            for _ in range(state["lines"]):
                number += 1
                level = min(4.0, max(1.0, level + random.uniform(-0.02, 0.02)))
                lines.append(f"{number:07d} unit {unit} {place['kind']} {level:.3f} checked")
        else:
            number += 1
            lines = [f"{number:07d} unit {unit} log begun or full"]
        append(log, lines)
        state["last"] = number
        with open(f"{state_path}.new", "w") as file:
            json.dump(state, file)
        os.replace(f"{state_path}.new", state_path)
        time.sleep(state["wait_s"])


if __name__ == "__main__":
    main(sys.argv[1])
