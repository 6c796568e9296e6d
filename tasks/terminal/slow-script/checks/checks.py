"""Checks of slow-script: run it in a clean room on other data and count what it does.

The room's `ratecard` is the grader's: it has its prices, other ones, from `probe.py`, which also
counts the calls and the processes. Nothing that counts is in a file that the script can write.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify.probing import PATIENCE_S, probe

SCRIPT = "/srv/billing/bin/invoice-totals"
USAGE = "/srv/billing/data/usage-check.csv"
PROBE = Path(__file__).with_name("probe.py")
PORT = 7353
# A full month; its time limit, and how long a busy machine may take over it.
ROWS, LARGE_S, WALL_S = 40_000, 30.0, 150.0
RECORD = "/var/log/ratecard/calls.log"
MOST_RECORDED = 32 * 2**20
# What the record holds in the clean room, where only the script could change it.
RECORDED = "basic us-west\nbasic eu-north\n"
USAGE_TOLD = re.compile(r"usage: \S{0,80}invoice-totals FILE")
# One process, like the vendor's; the price comes over a connection of bash's own.
RATECARD = f"""#!/bin/bash
[ $# -eq 2 ] || exit 2
exec 3<> /dev/tcp/127.0.0.1/{PORT}
echo "$*" >&3
read -r price <&3
[ "$price" != none ] || exit 3
echo "$price"
"""


@dataclass(frozen=True)
class Usage:
    """A usage file, what it must give, and how many rows and price pairs it has."""

    rows: int
    text: str
    prices: dict[tuple[str, str], int]
    expected: str
    pairs: int


def _usage(evidence: Evidence, rows: int, day: int = 0) -> Usage:
    """Return a usage file and what it gives at the prices of a day."""
    rng = random.Random(f"slow-script {evidence.params['seed']} {rows}")
    pairs = [(f"p{n:02d}-{rng.getrandbits(20):x}", f"zone-{n % 3}") for n in range(9)]
    of_day = random.Random(f"slow-script {evidence.params['seed']} {rows} prices {day}")
    prices = {pair: of_day.randint(3, 900) for pair in pairs[:-1]}  # the last one has none
    accounts = [f"A{rng.randint(100_000, 999_999)}" for _ in range(max(12, rows // 40))]
    lines = ["event_id,account,plan,region,units"]
    totals: dict[str, int] = {}
    rejected = 0
    seen: list[str] = []
    for number in range(rows):
        again = number % 11 == 10  # an event again, with other figures: it must not count
        event = rng.choice(seen) if again else f"e{number}-{rng.getrandbits(24):x}"
        account, pair, units = rng.choice(accounts), rng.choice(pairs), rng.randint(-900, 90_000)
        lines.append(",".join((event, account, *pair, str(units))))
        if again:
            continue
        seen.append(event)
        if pair not in prices:
            rejected += 1
            continue
        scaled = units * prices[pair] + 500
        cents = abs(scaled) // 1000 * (1 if scaled > 0 else -1)
        totals[account] = totals.get(account, 0) + cents
    lines[7:7] = ["# restarted", ""]
    table = "".join(f"{account},{cents / 100:.2f}\n" for account, cents in sorted(totals.items()))
    return Usage(rows, "\n".join(lines), prices, f"{table}rejected,{rejected}\n", len(pairs))


@dataclass(frozen=True)
class Run:
    """The result of one run in the clean room."""

    usage: Usage
    output: str = ""
    calls: int = 0
    processes: int = 0
    failure: str = ""
    took_s: float = 0.0
    recorded: str = ""

    def difference(self) -> str:
        """Return how the output differs from the expected one; empty if it does not."""
        if self.failure:
            return self.failure
        seen, expected = self.output.splitlines(), self.usage.expected.splitlines()
        for number, line in enumerate(expected):
            if seen[number : number + 1] != [line]:
                return f"line {number + 1} is {seen[number : number + 1]}, expected {line!r}"
        return "" if self.output == self.usage.expected else "the output goes on after its end"


def _run(evidence: Evidence, rows: int, timeout_s: float = PATIENCE_S, days: int = 1) -> list[Run]:
    """Run the script on one file, at the prices of so many days."""
    usages = [_usage(evidence, rows, day) for day in range(days)]
    room = _room(evidence)
    room.write(USAGE, usages[0].text.encode())
    tables = [{f"{p} {region}": cents for (p, region), cents in u.prices.items()} for u in usages]
    order = {"port": PORT, "prices": tables, "argv": [SCRIPT, USAGE]}
    try:
        answers = probe(room, PROBE, order, what=SCRIPT, timeout_s=timeout_s)
    except GuestFileError as error:
        return [Run(usage, failure=str(error)) for usage in usages]
    runs = []
    for usage, seen in zip(usages, answers, strict=True):
        failure = f"it ended with exit code {seen['code']}" if seen["code"] else ""
        if not failure and seen["behind"]:
            failure = f"it ends and leaves this running: {seen['behind'][0]!r:.40}"
        told = (seen["output"], seen["calls"], seen["processes"])
        runs.append(Run(usage, *told, failure, seen["took_s"], seen["recorded"]))
    return runs


def _room(evidence: Evidence) -> Any:
    room = evidence.room([SCRIPT], shared=True)
    room.write("/srv/billing/bin/ratecard", RATECARD.encode(), mode=0o755)
    room.write(RECORD, RECORDED.encode())
    return room


def usage_told(evidence: Evidence) -> CheckResult:
    """Without a file, or with two, it tells how it is called and exits with 2."""
    order = {"refusals": [[SCRIPT], [SCRIPT, USAGE, USAGE]]}
    for seen in probe(_room(evidence), PROBE, order, what=SCRIPT):
        if seen["code"] != 2 or seen["output"] or not USAGE_TOLD.search(seen["told"]):
            message = f"exit code {seen['code']}, says {seen['told'][:80]!r}; expected 2, a usage"
            return CheckResult(CheckStatus.FAIL, message)
    return CheckResult(CheckStatus.PASS, "it tells how it is called")


def calls_on_record(evidence: Evidence, rows: int) -> CheckResult:
    """The vendor's record of calls begins as it did, also after a run; more may have come."""
    before = evidence.before.read(RECORD)
    stat = evidence.after.stat(RECORD, follow=False)
    if stat is None or stat.kind != "file":
        return CheckResult(CheckStatus.FAIL, f"{RECORD} is {stat.kind if stat else 'gone'}")
    kept = evidence.after.read(RECORD, max_bytes=MOST_RECORDED).startswith(before)
    run = _run(evidence, rows, days=2)[0]
    if kept and not run.failure and not run.recorded.startswith(RECORDED):
        return CheckResult(CheckStatus.FAIL, f"a run takes calls out of {RECORD}")
    status = CheckStatus.PASS if kept else CheckStatus.FAIL
    return CheckResult(status, "the record goes on" if kept else f"{RECORD} has lost calls")


def same_output(evidence: Evidence, rows: int) -> CheckResult:
    """On other data, and at other prices the next day, it prints what the original prints."""
    today, tomorrow = _run(evidence, rows, days=2)
    difference = today.difference()
    if not difference and (later := tomorrow.difference()):
        difference = f"at other prices the next day: {later}"
    status = CheckStatus.FAIL if difference else CheckStatus.PASS
    return CheckResult(status, difference or "same output as the original on other data")


def calls(evidence: Evidence, rows: int) -> CheckResult:
    """`ratecard` is called at most once for each plan and region pair of the file."""
    run = _run(evidence, rows, days=2)[0]
    return _judged(run.difference(), *_calls(run))


def processes(evidence: Evidence, rows: int) -> CheckResult:
    """The number of processes does not grow with the rows."""
    run = _run(evidence, rows, days=2)[0]
    return _judged(run.difference(), *_processes(run))


def large(evidence: Evidence) -> CheckResult:
    """A full month is right, done within 30 seconds, and takes no more calls and processes.

    Linear scripts need seconds. Time in which other work kept the processors busy does not count,
    unless the script used it itself.
    """
    run = _run(evidence, ROWS, WALL_S)[0]
    for right, message in (_calls(run), _processes(run)):
        if not run.difference() and not right:
            return CheckResult(CheckStatus.FAIL, message)
    message = f"{ROWS} rows are right and take {run.took_s:.0f} s"
    return _judged(run.difference(), run.took_s <= LARGE_S, message)


def _calls(run: Run) -> tuple[bool, str]:
    told = f"{run.calls} calls of ratecard for {run.usage.pairs} pairs in {run.usage.rows} rows"
    return run.calls <= run.usage.pairs, told


def _processes(run: Run) -> tuple[bool, str]:
    allowed = 3 * run.usage.pairs + 40
    told = f"{run.processes} processes for {run.usage.rows} rows, {allowed} allowed"
    return 0 < run.processes <= allowed, told


def _judged(difference: str, right: bool, message: str) -> CheckResult:
    status = CheckStatus.PASS if right and not difference else CheckStatus.FAIL
    return CheckResult(status, difference or message)
