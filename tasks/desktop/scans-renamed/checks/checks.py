"""Compare the folder of the scans with what the letters say, by the digests of the files."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError

FOLDER = "/home/user/Scans"
MOST_BYTES = 2**16
MOST_ENTRIES = 300


def letters(evidence: Evidence) -> CheckResult:
    """Every letter is in the folder once, under its name; share of those."""
    held = _held(evidence)
    copies = Counter(held.values())
    wanted = _gold(evidence)["letters"]
    right = [name for name, digest in wanted.items() if held.get(name) == digest]
    right = [name for name in right if copies[wanted[name]] == 1]
    missing = [name for name in wanted if name not in right]
    message = f"{len(right)} of {len(wanted)} letters" + (f"; not {missing[0]}" if missing else "")
    status = CheckStatus.FAIL if missing else CheckStatus.PASS
    return CheckResult(status, message, len(right) / len(wanted))


def adverts(evidence: Evidence) -> CheckResult:
    """The page of adverts has its name, and there is no copy of it."""
    held = _held(evidence)
    ((name, digest),) = _gold(evidence)["kept"].items()
    if held.get(name) != digest:
        return CheckResult(CheckStatus.FAIL, f"{name} is not what it was")
    copies = [path for path, one in held.items() if one == digest]
    status = CheckStatus.PASS if len(copies) == 1 else CheckStatus.FAIL
    return CheckResult(status, f"{name} is there, {len(copies) - 1} copies")


def nothing_lost(evidence: Evidence) -> CheckResult:
    """Each of the nine scans is in the folder, whatever its name."""
    there = set(_held(evidence).values())
    gold = _gold(evidence)
    lost = {*gold["letters"].values(), *gold["kept"].values()} - there
    status = CheckStatus.FAIL if lost else CheckStatus.PASS
    return CheckResult(status, f"{len(lost)} scans are gone")


def _held(evidence: Evidence) -> dict[str, str]:
    """Return the digest of every file below the folder, by its path there."""
    found: dict[str, str] = {}
    stat = evidence.after.stat(FOLDER, follow=False)
    if stat is None or stat.kind != "dir":
        raise GuestFileError(f"{FOLDER}: is not a folder any more")
    for number, (path, stat) in enumerate(evidence.after.walk(FOLDER)):
        if number == MOST_ENTRIES:
            raise GuestFileError(f"{FOLDER}: holds far more than it did")
        if stat.kind == "file" and stat.size <= MOST_BYTES:
            data = evidence.after.read(path, max_bytes=MOST_BYTES)
            found[path.removeprefix(f"{FOLDER}/")] = hashlib.sha256(data).hexdigest()
    return found


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("scans.json"))
