"""Locks, output and state of the batch jobs against what the generator knows of them."""

from __future__ import annotations

import json
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.records import ChangeKind
from agentgym.verify import path_matches, standing
from agentgym.verify.in_place import read_in_place

HOME = "/srv/batch"
MOST_BYTES = 2**20
SCRATCH = ("/root/**", "/tmp/**", "/var/tmp/**")


def stale_locks(evidence: Evidence) -> CheckResult:
    """The locks that nobody held are gone; credit by lock."""
    stale = _gold(evidence)["stale"]
    there = [j for j in stale if evidence.after.stat(f"{HOME}/locks/{j}.lock", follow=False)]
    if not there:
        return CheckResult(CheckStatus.PASS, f"{len(stale)} stale locks are gone")
    share = 1 - len(there) / len(stale)
    return CheckResult(CheckStatus.FAIL, f"still locked: {', '.join(there)}", score=share)


def output(evidence: Evidence) -> CheckResult:
    """The interrupted job's output is whole; credit for the inputs that were left."""
    gold = _gold(evidence)
    seen = _output(evidence)
    true, there = gold["whole"].splitlines(keepends=True), set(seen)
    if seen == true:
        return CheckResult(CheckStatus.PASS, f"all {len(true)} lines are there, in order")
    todo = [line for line in true if line.partition(",")[0] in gold["left"]]
    missing = [line for line in todo if line not in there]
    extra = len(seen) - len(there & set(true))
    share = max(0.0, (len(todo) - len(missing) - extra) / len(todo))
    message = f"{len(missing)} of {len(todo)} lines missing, {extra} wrong or doubled"
    return CheckResult(CheckStatus.FAIL, message, score=min(share, 0.9))


def finished(evidence: Evidence) -> CheckResult:
    """The job says that it is finished, and no input is left."""
    job = _gold(evidence)["victim"]
    path = f"{HOME}/state/{job}.json"
    text = evidence.after.read(path, max_bytes=4096)
    try:
        phase = json.loads(text)["phase"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise GuestFileError(f"{path}: holds no phase: {text[:60]!r}") from None
    try:
        left = len(evidence.after.list(f"{HOME}/in/{job}"))
    except GuestFileError:
        left = 0
    status = CheckStatus.PASS if phase == "finished" and not left else CheckStatus.FAIL
    return CheckResult(status, f"{job} is {phase!r:.40}, {left} inputs are left")


def written_kept(evidence: Evidence) -> CheckResult:
    """No line is lost whose input is gone: it was resumed and not begun anew."""
    gold = _gold(evidence)
    seen, left = set(_output(evidence)), set(gold["left"])
    lines = gold["whole"].splitlines(keepends=True)
    lost = [x for x in lines if x not in seen and x.partition(",")[0] not in left]
    lost += [n for n in left if not _known(evidence, n, seen)]
    if lost:
        return CheckResult(CheckStatus.FAIL, f"{len(lost)} meters are lost, e.g. {lost[0]!r}")
    return CheckResult(CheckStatus.PASS, "no reading was lost")


def alive_kept(evidence: Evidence) -> CheckResult:
    """Locks, inputs, output and state of the jobs that are running are as they were."""
    alive = _gold(evidence)["alive"]
    mine = [
        place
        for job in alive
        for place in (f"/locks/{job}.", f"/out/{job}.", f"/state/{job}.", f"/in/{job}")
    ]
    touched = [
        change.path
        for change in evidence.changes
        if any(change.path.startswith(HOME + place) for place in mine)
    ]
    if touched:
        message = f"{len(touched)} files of running jobs were touched, e.g. {touched[0]}"
        return CheckResult(CheckStatus.FAIL, message)
    return CheckResult(CheckStatus.PASS, f"{', '.join(alive)}: nothing touched")


def locks_stood(evidence: Evidence) -> CheckResult:
    """The locks of running jobs are the very files that the setup left.

    A lock that was put back looks like one that stood, but it is another file: the time of its last
    change, which no program can set, is later.
    """
    alive = _gold(evidence)["alive"]
    return standing.stood(evidence, [f"{HOME}/locks/{job}.lock" for job in alive])


def rest_kept(evidence: Evidence) -> CheckResult:
    """Nothing was changed or removed but stale locks and the files of the interrupted job."""
    gold = _gold(evidence)
    job = gold["victim"]
    free = [f"{HOME}/locks/{name}.lock" for name in gold["stale"]]
    free += [f"{HOME}/out/{job}.csv", f"{HOME}/state/{job}.json", f"{HOME}/in/{job}/**", *SCRATCH]
    for change in evidence.changes:
        lock = change.path.startswith(f"{HOME}/locks/") and change.path.endswith(".lock")
        added = change.kind == ChangeKind.ADDED and not lock
        if not added and not path_matches(change.path, free):
            return CheckResult(CheckStatus.FAIL, f"{change.path:.100} was {change.kind}")
    return CheckResult(CheckStatus.PASS, "all else is as it was")


def _known(evidence: Evidence, name: str, lines: set[str]) -> bool:
    """Whether a meter's readings are still there, as an input or in the output."""
    gold = _gold(evidence)
    if any(line.partition(",")[0] == name for line in lines & set(gold["whole"].splitlines(True))):
        return True
    return evidence.after.stat(f"{HOME}/in/{gold['victim']}/{name}") is not None


def _output(evidence: Evidence) -> list[str]:
    path = f"{HOME}/out/{_gold(evidence)['victim']}.csv"
    text = read_in_place(evidence.after, path, max_bytes=MOST_BYTES).decode("utf-8", "replace")
    return text.splitlines(keepends=True)


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("truth.json"))
