"""Write crontabs of hosts in several time zones, and note the true runs and clashes.

The truth walks real time: every UTC minute of the window is read on each zone's clock, so local
times that do not exist never appear and those that come twice are told apart by `fold` (PEP 495).
"""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path
from zoneinfo import ZoneInfo

ROOT = Path("/srv/cron")
UTC = ZoneInfo("UTC")
DAYS = 5
CHANGES = {  # first day of the window -> the region whose clocks change in it
    "2024-03-08": "us",
    "2024-03-29": "eu",
    "2024-04-05": "au",
    "2024-10-04": "au",
    "2024-10-25": "eu",
    "2024-11-01": "us",
    "2025-03-07": "us",
    "2025-03-28": "eu",
    "2025-04-04": "au",
    "2025-10-03": "au",
    "2025-10-24": "eu",
    "2025-10-31": "us",
}
CHANGING = {
    "eu": {"fra": "Europe/Berlin", "lon": "Europe/London", "hel": "Europe/Helsinki"},
    "us": {"nyc": "America/New_York", "chi": "America/Chicago", "yyt": "America/St_Johns"},
    "au": {"syd": "Australia/Sydney", "adl": "Australia/Adelaide", "ldh": "Australia/Lord_Howe"},
}
STEADY = {
    "blr": "Asia/Kolkata",
    "ktm": "Asia/Kathmandu",
    "nrt": "Asia/Tokyo",
    "gru": "America/Sao_Paulo",
    "phx": "America/Phoenix",
    "dxb": "Asia/Dubai",
}
JOBS = (
    "ledger-close fx-rates invoice-mail stock-sync geo-refresh cdn-purge log-rotate audit-export "
    "price-feed churn-model crm-merge tax-report backup-full backup-incr dedupe-users etl-orders "
    "etl-returns kpi-board label-print mail-digest partner-push search-index sla-report "
    "session-reap thumb-build token-sweep usage-rollup vat-check warm-cache weather-pull"
)
LOCKS = ("warehouse", "partner-sftp", "reports-db")
NAMES = {
    name: number
    for names, first in (("sun mon tue wed thu fri sat", 0), ("jan feb mar apr", 1))
    for number, name in enumerate(names.split(), first)
} | {"oct": 10, "nov": 11, "dec": 12}
MACROS = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0"}


class DrawAgain(Exception):
    """The drawn jobs make a dull or an unwieldy set of clashes."""


@dataclass(frozen=True)
class Entry:
    host: str
    zone: str
    when: str
    job: str
    disabled: bool = False


def field(text: str, low: int, high: int) -> set[int]:
    """Return the numbers a cron field stands for."""
    found: set[int] = set()
    for part in text.lower().split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = low, high
        else:
            ends = [NAMES.get(end) if end in NAMES else int(end) for end in span.split("-")]
            first, last = ends[0], ends[-1]
        found.update(range(first, last + 1, int(step or 1)))
    return found


def runs_of(entry: Entry, minutes: list[datetime]) -> list[datetime]:
    """Return the UTC minutes in which an entry runs; `minutes` are on its zone's clock."""
    when = MACROS.get(entry.when, entry.when)
    if entry.disabled or when.startswith("@"):
        return []
    minute, hour, day, month, weekday = when.split()
    in_minute, in_hour = field(minute, 0, 59), field(hour, 0, 23)
    in_day, in_month = field(day, 1, 31), field(month, 1, 12)
    in_weekday = {number % 7 for number in field(weekday, 0, 7)}
    either = day != "*" and weekday != "*"
    found = []
    for now in minutes:
        if now.minute not in in_minute or now.hour not in in_hour or now.month not in in_month:
            continue
        days = (now.day in in_day, now.isoweekday() % 7 in in_weekday)
        if not (any(days) if either else all(days)) or (now.fold and hour != "*"):
            continue
        found.append(now.astimezone(UTC))
    return found


def awkward_time(rng: random.Random, minutes: list[datetime]) -> tuple[int, int]:
    """Return an hour and minute that the clock change skips or repeats."""
    for before, after in zip(minutes, minutes[1:]):  # noqa: B905 - strict= needs Python 3.10
        shift = after.utcoffset() - before.utcoffset()
        if shift:
            width = abs(int(shift.total_seconds() // 60))
            first = before + timedelta(minutes=1) if shift > timedelta(0) else after
            chosen = first + timedelta(minutes=rng.randrange(0, width, 5))
            return chosen.hour, chosen.minute
    raise SystemExit(
        f"no clock change in {minutes[0].tzinfo} from {minutes[0]}: zone data too old?"
    )


def ordinary(rng: random.Random, start: datetime) -> str:
    """Draw a schedule of the kinds that crontabs are full of."""
    minute = rng.randrange(0, 60, 5)
    month = start.strftime("%b").lower()
    other = "jan" if month != "jan" else "feb"
    return rng.choice(
        [
            f"{minute} {rng.randint(0, 23)} * * *",
            f"{minute} {rng.randint(0, 11)},{rng.randint(12, 23)} * * *",
            f"{minute} {rng.randint(0, 23)} * * mon-fri",
            f"{minute} {rng.randint(0, 23)} * * {rng.choice(['5-7', '0,3', 'SAT,SUN', '1-5/2'])}",
            f"{minute} */{rng.choice([4, 6, 8])} * * *",
            f"{rng.randint(0, 9)}-59/{rng.choice([20, 30])} {rng.randint(6, 9)}-18/3 * * 1-6",
            f"{minute} {rng.randint(0, 23)} * {month},{other} *",
            f"{minute} {rng.randint(0, 23)} {start.day + 1}-{start.day + 2} * *"
            if start.day < 27
            else f"{minute} {rng.randint(0, 23)} {start.day}-31 * *",
            "@daily",
            "@weekly",
        ]
    )


def either_day(rng: random.Random, start: datetime) -> str:
    """Draw an entry with both day fields: two different days of the window match."""
    first, second = rng.sample([start + timedelta(days=n) for n in (1, 2, 3)], 2)
    return f"{rng.randrange(0, 60, 5)} {rng.randint(8, 16)} {first.day} * {second.isoweekday() % 7}"


def draw_entries(
    rng: random.Random, start: datetime, clocks: dict[str, list[datetime]]
) -> list[Entry]:
    family = CHANGES[start.strftime("%Y-%m-%d")]
    movers = rng.sample(sorted(CHANGING[family].items()), 2)
    places = [*movers, *rng.sample(sorted(STEADY.items()), 2)]
    jobs = rng.sample(JOBS.split(), 24)
    entries: list[Entry] = []

    def add(place: str, zone: str, when: str, disabled: bool = False) -> None:
        entries.append(Entry(f"{place}-batch", zone, when, jobs.pop(), disabled))

    for number, (place, zone) in enumerate(places):
        second_zone = rng.choice([z for _, z in places if z != zone])
        if number < 2:
            hour, minute = awkward_time(rng, clocks[zone])
            add(place, zone, f"{minute} {hour} * * *")
            add(place, zone, f"{rng.randrange(0, 20, 5)}-59/{rng.choice([20, 30])} * * * *")
        add(place, zone, either_day(rng, start) if number % 2 else ordinary(rng, start))
        add(place, zone, ordinary(rng, start))
        if number == 2:
            add(place, zone, ordinary(rng, start), disabled=True)
            add(place, zone, "@reboot")
        add(place, second_zone, f"{rng.randrange(0, 60, 5)} {rng.randint(0, 23)} * * *")
        add(place, second_zone, ordinary(rng, start))
    return entries


def find_clashes(
    runs: list[tuple[datetime, str, str]], inventory: dict[str, tuple[str, int]]
) -> list[tuple[datetime, str, str, str]]:
    clashes = []
    for one, two in combinations(sorted((when, job) for when, _, job in runs), 2):
        (began, first), (starts, second) = one, two
        lock, minutes = inventory[first]
        if first == second or not lock or lock != inventory[second][0]:
            continue
        if starts < began + timedelta(minutes=minutes):
            clashes.append((starts, lock, first, second))
    return sorted(clashes)


def draw_inventory(rng: random.Random, entries: list[Entry]) -> dict[str, tuple[str, int]]:
    """Return job -> (lock, minutes); what runs every half hour is quick."""
    inventory = {}
    for entry in entries:
        often = " * * * *" in entry.when
        minutes = rng.choice([3, 6, 9]) if often else rng.choice([12, 20, 25, 40, 55, 90])
        lock = rng.choice(LOCKS) if often or rng.random() < 0.7 else ""
        inventory[entry.job] = (lock, minutes)
    return inventory


def crontab(rng: random.Random, host: str, entries: list[Entry]) -> str:
    lines = [f"# {host}: crontab of user batch, exported by fleetctl", "SHELL=/bin/bash"]
    lines.append(f"MAILTO=batch-{host.split('-')[0]}@corp.example")
    zone = "UTC"
    for entry in entries:
        if entry.zone != zone:
            zone = entry.zone
            lines += ["", f"CRON_TZ={zone}"]
        tail = rng.choice(
            ["", " >/dev/null 2>&1", " --quiet", r" >> /var/log/batch/$(date +\%F).log", " -n 3"]
        )
        command = f"/opt/batch/bin/batch-run {entry.job}{tail}"
        lines.append(f"{'#' if entry.disabled else ''}{entry.when:<24} {command}")
    return "\n".join(lines) + "\n"


def main() -> None:
    rng = random.Random(int(os.environ["PARAM_SEED"]))
    start = datetime.fromisoformat(os.environ["PARAM_START"]).replace(tzinfo=UTC)
    window = [start + timedelta(minutes=n) for n in range(DAYS * 1440)]
    zones = {zone for family in (*CHANGING.values(), STEADY) for zone in family.values()}
    clocks = {zone: [now.astimezone(ZoneInfo(zone)) for now in window] for zone in sorted(zones)}
    for _ in range(200):
        entries = draw_entries(rng, start, clocks)
        inventory = draw_inventory(rng, entries)
        runs = [(when, e.host, e.job) for e in entries for when in runs_of(e, clocks[e.zone])]
        clashes = find_clashes(runs, inventory)
        if 12 <= len(clashes) <= 90:
            break
    else:
        raise SystemExit("no set of jobs with 12 to 90 clashes in 200 draws")

    folder = ROOT / "crontabs"
    folder.mkdir(parents=True)
    for host in sorted({entry.host for entry in entries}):
        text = crontab(rng, host, [e for e in entries if e.host == host])
        (folder / f"{host}.cron").write_text(text)
    rows = sorted(f"{job},{lock},{minutes}" for job, (lock, minutes) in inventory.items())
    (ROOT / "jobs.csv").write_text("\n".join(["job,lock,minutes", *rows]) + "\n")
    shutil.copyfile(Path(__file__).with_name("CRON.md"), ROOT / "CRON.md")

    gold = Path(os.environ["AGENTGYM_GOLD"])
    stamp = "%Y-%m-%dT%H:%MZ"
    (gold / "runs.csv").write_text(
        "utc,host,job\n"
        + "".join(f"{when.strftime(stamp)},{host},{job}\n" for when, host, job in sorted(runs))
    )
    (gold / "clashes.csv").write_text(
        "utc,lock,first,second\n"
        + "".join(f"{when.strftime(stamp)},{','.join(rest)}\n" for when, *rest in clashes)
    )


if __name__ == "__main__":
    main()
