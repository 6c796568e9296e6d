"""Checks of cron-timezones: the two tables against the ones the generator computed."""

from __future__ import annotations

from collections import defaultdict

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.verify.csv_lines import plain_lines
from agentgym.verify.in_place import read_in_place

MOST_BYTES = 2**20


def _lines(data: bytes) -> list[str]:
    lines = plain_lines(data.decode("utf-8", "replace"))
    return [line.strip() for line in lines if line.strip()]


def _both(evidence: Evidence, name: str) -> tuple[list[str], list[str]]:
    """Return the lines of the agent's table and of the true one."""
    seen = read_in_place(evidence.after, f"/srv/cron/{name}", max_bytes=MOST_BYTES)
    return _lines(seen), _lines(evidence.gold(name))


def _starts(lines: list[str]) -> dict[str, set[str]]:
    """Return "host,job" -> the times at which it starts."""
    starts: dict[str, set[str]] = defaultdict(set)
    for line in lines[1:]:
        when, _, job = line.partition(",")
        starts[job].add(when)
    return starts


def runs(evidence: Evidence) -> CheckResult:
    """Each job starts exactly when it should; credit for the share of jobs that do."""
    seen, true = _both(evidence, "runs.csv")
    found, expected = _starts(seen), _starts(true)
    jobs = sorted(found.keys() | expected.keys())
    wrong = [job for job in jobs if found.get(job) != expected.get(job)]
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"all {len(jobs)} jobs start when they should")
    job = wrong[0]
    missing = sorted(expected.get(job, set()) - found.get(job, set()))
    extra = sorted(found.get(job, set()) - expected.get(job, set()))
    message = f"{len(wrong)} of {len(jobs)} jobs are wrong, e.g. {job}: "
    message += f"{len(missing)} starts missing {missing[:1]}, {len(extra)} too many {extra[:1]}"
    return CheckResult(CheckStatus.FAIL, message, 1 - len(wrong) / len(jobs))


def clashes(evidence: Evidence) -> CheckResult:
    """The clashing pairs are the true ones; partial credit is the Jaccard index."""
    seen, true = _both(evidence, "clashes.csv")
    found, expected = set(seen[1:]), set(true[1:])
    if found == expected:
        return CheckResult(CheckStatus.PASS, f"all {len(expected)} clashes found")
    missing, extra = sorted(expected - found), sorted(found - expected)
    message = f"{len(missing)} clashes missing {missing[:1]}, {len(extra)} too many {extra[:1]}"
    share = len(found & expected) / len(found | expected)
    return CheckResult(CheckStatus.FAIL, message, share)


def layout(evidence: Evidence, name: str) -> CheckResult:
    """A table with the right lines also has the header, the order and no line twice."""
    seen, true = _both(evidence, name)
    if seen == true:
        return CheckResult(CheckStatus.PASS, f"{name} is laid out as asked")
    pairs = enumerate(zip(seen, true, strict=False), 1)
    at = next((n for n, (a, b) in pairs if a != b), min(len(seen), len(true)) + 1)
    expected = true[at - 1] if at <= len(true) else "the end"
    return CheckResult(
        CheckStatus.FAIL, f"{name}:{at}: {seen[at - 1 : at]} where {expected!r} was expected"
    )
