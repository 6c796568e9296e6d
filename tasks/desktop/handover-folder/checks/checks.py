"""Compare the folder of the project with what its papers say, by the digests of the files."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError

FOLDER = "/home/user/Handover"
HEAD = "Final papers of the project Lantern"
MOST_BYTES = 2**18
MOST_ENTRIES = 300


def papers(evidence: Evidence, place: str) -> CheckResult:
    """A folder holds its files and no others, and they are nowhere else in the project."""
    wanted, held = _gold(evidence)[place], _held(evidence)
    seen = {
        path.partition("/")[2]: one for path, one in held.items() if path.startswith(f"{place}/")
    }
    if seen != wanted:
        wrong = sorted(set(seen.items()) ^ set(wanted.items()))
        return CheckResult(CheckStatus.FAIL, f"{place}: {len(wrong)} differ, {wrong[:1]!r:.80}")
    copies = [path for path, one in held.items() if one in wanted.values()]
    if len(copies) > len(wanted):
        return CheckResult(CheckStatus.FAIL, f"{len(copies) - len(wanted)} of {place} are copies")
    return CheckResult(CheckStatus.PASS, f"{place} holds its {len(wanted)} files")


def old_gone(evidence: Evidence) -> CheckResult:
    """No draft from before the day is left below the folder; share of those."""
    wanted, there = _gold(evidence)["gone"], set(_held(evidence).values())
    gone = [name for name, digest in wanted.items() if digest not in there]
    status = CheckStatus.PASS if len(gone) == len(wanted) else CheckStatus.FAIL
    return CheckResult(status, f"{len(gone)} of {len(wanted)} are gone", len(gone) / len(wanted))


def index(evidence: Evidence) -> CheckResult:
    """The list has its first line, then the names of the final papers."""
    path = f"{FOLDER}/index.txt"
    stat = evidence.after.stat(path, follow=False)
    if stat is None or stat.kind != "file":
        raise GuestFileError(f"{path}: is {stat.kind if stat else 'not there'}, expected a file")
    text = evidence.after.read(path, max_bytes=MOST_BYTES).decode("utf-8", "replace")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    status = CheckStatus.PASS if lines == [HEAD, *_final(evidence)] else CheckStatus.FAIL
    return CheckResult(status, f"index.txt holds {lines!r:.200}")


def nothing_lost(evidence: Evidence) -> CheckResult:
    """Every file that was to stay is somewhere in the folder."""
    gold, there = _gold(evidence), set(_held(evidence).values())
    keep = {one for place in ("Final", "Drafts", "Pictures") for one in gold[place].values()}
    status = CheckStatus.FAIL if keep - there else CheckStatus.PASS
    return CheckResult(status, f"{len(keep - there)} files are gone that were to stay")


def _final(evidence: Evidence) -> list[str]:
    return sorted(_gold(evidence)["Final"])


def _held(evidence: Evidence) -> dict[str, str]:
    """Return the digest of every file below the folder, by its path there."""
    found: dict[str, str] = {}
    stat = evidence.after.stat(FOLDER, follow=False)
    if stat is None or stat.kind != "dir":
        raise GuestFileError(f"{FOLDER}: is not a folder any more")
    for number, (path, stat) in enumerate(evidence.after.walk(FOLDER)):
        if number == MOST_ENTRIES:
            raise GuestFileError(f"{FOLDER}: holds far more than it did")
        if stat.kind == "dir":
            continue
        small = stat.kind == "file" and stat.size <= MOST_BYTES
        data = evidence.after.read(path, max_bytes=MOST_BYTES) if small else b"?"
        found[path.removeprefix(f"{FOLDER}/")] = hashlib.sha256(data).hexdigest()
    return found


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("folder.json"))
