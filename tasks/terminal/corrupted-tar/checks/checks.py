"""Checks of corrupted-tar: what was recovered is compared with the generator's list of members."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify import standing
from agentgym.verify.in_place import read_in_place

OUT = "/srv/restore/recovered"
# Far more than the backup holds.
MOST_ENTRIES, MOST_PATH, MOST_BYTES = 5_000, 1_000, 2 * 2**20


def times_kept(evidence: Evidence) -> CheckResult:
    """The archive, its list and the log have kept their modification times."""
    service, date = evidence.params["service"], evidence.params["date"]
    names = (f"{service}-{date}.tar.gz", f"{service}-{date}.list", "backup.log")
    return standing.times_kept(evidence, [f"/srv/restore/{name}" for name in names])


def _members(evidence: Evidence) -> tuple[dict[str, dict[str, Any]], set[str]]:
    gold = json.loads(evidence.gold("members.json"))
    return gold["intact"], set(gold["lost"])


def _recovered(evidence: Evidence) -> dict[str, str]:
    """Return path below `recovered/` -> kind.

    Raises:
        GuestFileError: It is no folder, or holds far more than the backup.
    """
    found: dict[str, str] = {}
    waiting, entries = [OUT], 0
    while waiting:
        path = waiting.pop()
        stat = evidence.after.stat(path, follow=False)
        kind = "nothing" if stat is None else stat.kind
        entries += 1
        if entries > MOST_ENTRIES or len(path) > MOST_PATH:
            raise GuestFileError(f"{OUT}: holds far more, or deeper folders, than the backup")
        if kind == "dir":
            waiting += [f"{path}/{name}" for name in evidence.after.list(path)]
        elif path == OUT:
            raise GuestFileError(f"{OUT} is {kind}, expected a folder")
        if path != OUT:
            found[path.removeprefix(OUT + "/")] = kind
    return found


def _listed_folders(evidence: Evidence) -> set[str]:
    """Return the folders that the listing names, and those above what it names."""
    intact, lost = _members(evidence)
    service, date = evidence.params["service"], evidence.params["date"]
    listing = evidence.before.read(f"/srv/restore/{service}-{date}.list").decode()
    fields = [line.split(None, 5) for line in listing.splitlines()]
    folders = {line[5].rstrip("/") for line in fields if line[0].startswith("d")}
    for path in (*intact, *lost, *folders):
        folders |= {path[: slash.start()] for slash in re.finditer("/", path)}
    return folders


def _digest(evidence: Evidence, path: str) -> str:
    """Return a file's SHA-256; nothing if it is larger than any member."""
    try:
        return hashlib.sha256(evidence.after.read(path, max_bytes=MOST_BYTES)).hexdigest()
    except GuestFileError:
        return ""


def _share(right: int, total: int, message: str) -> CheckResult:
    status = CheckStatus.PASS if right == total else CheckStatus.FAIL
    return CheckResult(status, message, right / total)


def restored(evidence: Evidence) -> CheckResult:
    """Every intact file is back with the right bytes; credit for the share that is."""
    intact, _ = _members(evidence)
    found = _recovered(evidence)
    wrong = [
        path
        for path, member in intact.items()
        if found.get(path) != "file" or _digest(evidence, f"{OUT}/{path}") != member["sha256"]
    ]
    message = f"{len(intact) - len(wrong)} of {len(intact)} intact files recovered"
    if wrong:
        message += f"; missing or different: {wrong[0]}"
    return _share(len(intact) - len(wrong), len(intact), message)


def nothing_doubtful(evidence: Evidence) -> CheckResult:
    """Nothing but intact members lies in the output folder, in the folders of the listing."""
    intact, lost = _members(evidence)
    found, folders = _recovered(evidence), _listed_folders(evidence)
    files = [path for path, kind in found.items() if kind != "dir"]
    if len(files) < len(intact) / 2:
        return CheckResult(CheckStatus.FAIL, f"only {len(files)} files in {OUT}, too few to judge")
    extra = sorted(
        path
        for path, kind in found.items()
        if (path not in folders if kind == "dir" else path not in intact)
    )
    if not extra:
        return CheckResult(CheckStatus.PASS, f"all {len(files)} files are intact members")
    why = "is damaged in the archive" if extra[0] in lost else "is not in the listing"
    return CheckResult(
        CheckStatus.FAIL, f"{len(extra)} paths must not be there, e.g. {extra[0]!r}, which {why}"
    )


def lost_list(evidence: Evidence) -> CheckResult:
    """The report names exactly the lost files; partial credit is the Jaccard index."""
    _, lost = _members(evidence)
    report = read_in_place(evidence.after, "/srv/restore/lost.txt", max_bytes=MOST_BYTES)
    lines = report.decode("utf-8", "replace").splitlines()
    named = {line.strip() for line in lines if line.strip()}
    both, either = len(named & lost), len(named | lost)
    missing, extra = sorted(lost - named), sorted(named - lost)
    message = f"{len(named)} paths named, {len(lost)} are lost"
    if missing:
        message += f"; not named: {missing[0]}"
    if extra:
        message += f"; named but not lost: {extra[0]}"
    return _share(both, either, message)


def metadata(evidence: Evidence) -> CheckResult:
    """Recovered files carry the permissions and times of the archive."""
    intact, _ = _members(evidence)
    wrong = []
    for path, member in intact.items():
        stat = evidence.after.stat(f"{OUT}/{path}")
        if stat is None or (stat.mode, int(stat.mtime_s)) != (member["mode"], member["mtime"]):
            wrong.append(path)
    message = f"{len(intact) - len(wrong)} of {len(intact)} files have their mode and time"
    if wrong:
        message += f"; e.g. {wrong[0]} has not"
    return _share(len(intact) - len(wrong), len(intact), message)
