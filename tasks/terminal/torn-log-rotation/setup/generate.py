"""Write some days of a daemon's log, rotated by a tool that was killed on three nights.

On two nights it died while it copied a file up, and left two files of a day, one of them torn, and
a gap; the last time while it compressed, and left a torn file beside its source. After that night
the daemon wrote a buffer again.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import time
from pathlib import Path

DAEMON = os.environ["PARAM_DAEMON"]
FOLDER = Path("/var/log") / DAEMON
DAY = 86_400
SAYINGS = (
    "unit {n} reading {v}.{w}",
    "unit {n} voltage {v}.{w} within limits",
    "queue flushed, {v} entries",
    "unit {n} answered after {w} ms",
)
BURSTS = ("uplink timeout, trying again", "checksum mismatch, frame dropped", "clock step ignored")


def day_of_log(rng: random.Random, start: int) -> list[str]:
    lines: list[str] = []
    for second in sorted(rng.sample(range(DAY), rng.randint(150, 260))):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start + second))
        text = rng.choice(SAYINGS).format(
            n=rng.randint(100, 140), v=rng.randint(10, 480), w=rng.randint(1, 99)
        )
        if rng.random() < 0.12:
            lines += [f"{stamp} {rng.choice(BURSTS)}"] * rng.randint(2, 3)
        elif rng.random() < 0.08:  # in an order that sorting would not give
            lines += [f"{stamp} {text}", f"{stamp} {BURSTS[1]}"]
        else:
            lines.append(f"{stamp} {text}")
    return lines


def packed(lines: list[str], mtime: int, level: int = 6) -> bytes:
    return gzip.compress("".join(f"{line}\n" for line in lines).encode(), level, mtime=mtime)


def put(name: str, data: bytes, mtime: int) -> None:
    path = FOLDER / name
    path.write_bytes(data)
    path.chmod(0o640)
    os.utime(path, (mtime, mtime))


def write_packed(
    rng: random.Random, days: dict[int, list[str]], today: int, torn_below: dict[int, bool]
) -> dict[int, int]:
    """Write the days from the fourth on, some of them twice, and return their numbers by age.

    `torn_below` has the ages that are there twice: is it the lower number that is torn?
    """
    gap = rng.randint(1, 2)
    number, numbers = 3, {}
    for age in range(3, len(days)):
        numbers[age] = number
        mtime = today - (age - 1) * DAY
        data = packed(days[age], mtime)
        if age not in torn_below:
            put(f"{DAEMON}.log.{number}.gz", data, mtime)
        else:
            copy = packed(days[age], mtime, 9)
            pair = [copy, data] if torn_below[age] else [data, copy]
            torn = 0 if torn_below[age] else 1
            pair[torn] = pair[torn][: len(pair[torn]) * rng.randint(55, 80) // 100]
            put(f"{DAEMON}.log.{number}.gz", pair[0], mtime)
            put(f"{DAEMON}.log.{number + 1}.gz", pair[1], mtime)
            number += 1
        number += 1 + (gap if age == max(torn_below) else 0)
    return numbers


def write_plain(rng: random.Random, days: dict[int, list[str]], today: int, again: int) -> None:
    """Write the last three days; the daemon has written some lines of the third a second time."""
    source = [*days[3][-again:], *days[2]]
    whole = packed(source, today)
    put(f"{DAEMON}.log.2.gz", whole[: len(whole) * rng.randint(40, 75) // 100], today - DAY + 9)
    for name, lines, mtime in (
        (f"{DAEMON}.log.2", source, today - DAY),
        (f"{DAEMON}.log.1", days[1], today),
        (f"{DAEMON}.log", days[0], today + 33_000),
    ):
        put(name, "".join(f"{line}\n" for line in lines).encode(), mtime)


def write_configuration() -> None:
    configuration = Path(f"/etc/rotate.d/{DAEMON}.conf")
    configuration.parent.mkdir()
    configuration.write_text(
        f"# /usr/local/sbin/rotate, nightly at 00:00 UTC\n{FOLDER}/{DAEMON}.log {{\n"
        "    daily\n    keep 14\n    compress from 2    # .1 stays plain text, .2.gz and on\n}\n"
    )


def write_journal(today: int, shifted: list[int], again: int) -> None:
    """Write what the rotation did in the three nights; in the first two it shifted a number."""
    journal = Path(f"/var/lib/rotate/{DAEMON}.journal")
    journal.parent.mkdir()
    *earlier, last = (
        time.strftime("%Y-%m-%d", time.gmtime(today - ago * DAY)) for ago in (5, 3, 1)
    )
    report = ""
    for night, at in zip(earlier, shifted, strict=True):
        report += f"{night} begin\n{night} shift {at} -> {at + 1} copying\n{night} killed\n"
    journal.write_text(
        f"{report}{last} begin, cannot shift, going on without\n{last} rename 1 -> 2 done\n"
        f"{last} compress 2\n{last} killed\n"
        f"{last} daemon reopened its log, {again} lines were still buffered\n"
    )


def main() -> None:
    rng = random.Random(f"torn-log-rotation {os.environ['PARAM_SEED']}")
    today = 20_300 * DAY + rng.randint(0, 300) * DAY
    days = {age: day_of_log(rng, today - age * DAY) for age in range(rng.randint(9, 12))}
    days[0] = days[0][: rng.randint(40, 90)]
    twice = rng.randint(3, 4)
    copied = (twice, twice + rng.randint(1, 3))
    # Which of two copies is whole cannot be told from names or times, nor from the other pair.
    torn_below = dict(zip(copied, rng.sample((True, False), 2), strict=True))
    FOLDER.mkdir(parents=True)
    numbers = write_packed(rng, days, today, torn_below)
    again = rng.randint(12, 30)
    write_plain(rng, days, today, again)
    write_configuration()
    write_journal(today, [numbers[age] for age in reversed(copied)], again)
    gold = {
        "days": {str(age): lines for age, lines in days.items()},
        "wrong": [age for age, number in numbers.items() if number != age or torn_below.get(age)],
    }
    (Path(os.environ["AGENTGYM_GOLD"]) / "log.json").write_text(json.dumps(gold))


main()
