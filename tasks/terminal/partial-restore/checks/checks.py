"""Compare the disk with the backup and with what people did since, as both were planned."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.records import Change, ChangeKind
from agentgym.verify import path_matches

SCRATCH = ("/root/**", "/tmp/**")
MOST_BYTES = 2**20
MOST_ENTRIES = 5_000


def put_back(evidence: Evidence, which: str) -> CheckResult:
    """The files that were missing, or those that were damaged, have the backup's contents."""
    gold = _gold(evidence)
    right = [path for path in gold[which] if _digest(evidence, path) == gold["backup"][path][0]]
    return _share(right, gold[which], f"{which} files are whole")


def attributes(evidence: Evidence) -> CheckResult:
    """Restored files have the permissions and the time of the backup."""
    gold = _gold(evidence)
    paths = gold["missing"] + gold["damaged"]
    right = []
    for path in paths:
        digest, mode, mtime = gold["backup"][path]
        stat = evidence.after.stat(_at(evidence, path), follow=False)
        if stat is None or (stat.mode, int(stat.mtime_s)) != (mode, mtime):
            continue
        right += [path] * (_digest(evidence, path) == digest)
    return _share(right, paths, "files have their permissions and time")


def listed(evidence: Evidence) -> CheckResult:
    """The list names what had to be put back; partial credit is the Jaccard index."""
    gold = _gold(evidence)
    wanted = {*gold["missing"], *gold["damaged"]}
    text = _regular(evidence, "/root/restored.txt").decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = set(lines)
    if named == wanted and len(lines) == len(wanted):
        return CheckResult(CheckStatus.PASS, f"all {len(wanted)} paths, no others")
    message = f"{len(wanted - named)} paths missing, {len(named - wanted)} too many"
    share = len(named & wanted) / (len(named | wanted) + len(lines) - len(named))
    return CheckResult(CheckStatus.FAIL, message, min(share, 0.99))


def no_leftovers(evidence: Evidence) -> CheckResult:
    """No temporary file of the restore tool is left."""
    left = 0
    for number, (path, _) in enumerate(evidence.after.walk(f"/srv/{evidence.params['service']}")):
        if number == MOST_ENTRIES:
            return CheckResult(CheckStatus.FAIL, "far more is there than was")
        left += path.endswith(".restore-tmp")
    status = CheckStatus.FAIL if left else CheckStatus.PASS
    return CheckResult(status, f"{left} temporary files are left")


def work_kept(evidence: Evidence) -> CheckResult:
    """Files that people saved are unchanged, with their permissions and times."""
    people = _gold(evidence)["people"]
    kept = []
    for path, digest in people.items():
        trees = (evidence.before, evidence.after)
        had, has = (tree.stat(_at(evidence, path), follow=False) for tree in trees)
        same = had and has and (had.mode, int(had.mtime_s)) == (has.mode, int(has.mtime_s))
        kept += [path] * (bool(same) and _digest(evidence, path) == digest)
    return _share(kept, list(people), "files of the morning are as they were")


def stays_deleted(evidence: Evidence) -> CheckResult:
    """Files that people deleted have not come back."""
    back = [
        path
        for path in _gold(evidence)["deleted"]
        if evidence.after.stat(_at(evidence, path), follow=False) is not None
    ]
    status = CheckStatus.FAIL if back else CheckStatus.PASS
    return CheckResult(status, f"{len(back)} deleted files came back {back[:1]}")


def no_strays(evidence: Evidence) -> CheckResult:
    """Nothing was added or changed but what had to be put back, scratch folders aside."""
    gold = _gold(evidence)
    back = {_at(evidence, path) for path in gold["missing"] + gold["damaged"]}
    above = {"/".join(path.split("/")[:n]) for path in back for n in range(2, path.count("/") + 1)}
    odd = [c.path for c in _foreign(evidence) if c.path not in back and c.path not in above]
    if odd:
        return CheckResult(CheckStatus.FAIL, f"{len(odd)} strays, e.g. {odd[0]!r:.100}")
    return CheckResult(CheckStatus.PASS, "nothing was left lying about")


def rest_kept(evidence: Evidence) -> CheckResult:
    """No file that was whole, or is not the service's, was changed or removed."""
    free = {_at(evidence, path) for path in _gold(evidence)["damaged"]}
    lost = [
        change
        for change in _foreign(evidence)
        if change.kind != ChangeKind.ADDED and change.path not in free
    ]
    for change in lost:
        stat = evidence.before.stat(change.path, follow=False)
        if stat is not None and (stat.kind != "dir" or change.kind == ChangeKind.DELETED):
            return CheckResult(CheckStatus.FAIL, f"{change.path!r:.100} was {change.kind}")
    return CheckResult(CheckStatus.PASS, "all that was whole is as it was")


def _foreign(evidence: Evidence) -> list[Change]:
    """Return the changes outside of scratch folders, leftovers of the tool left out."""
    return [
        change
        for change in evidence.changes
        if not path_matches(change.path, SCRATCH)
        and not (change.path.endswith(".restore-tmp") and change.kind == ChangeKind.DELETED)
    ]


def _at(evidence: Evidence, path: str) -> str:
    return f"/srv/{evidence.params['service']}/{path}"


def _digest(evidence: Evidence, path: str) -> str:
    try:
        return hashlib.sha256(_regular(evidence, _at(evidence, path))).hexdigest()
    except GuestFileError:
        return ""


def _regular(evidence: Evidence, path: str) -> bytes:
    stat = evidence.after.stat(path, follow=False)
    if stat is None or stat.kind != "file":
        raise GuestFileError(f"{path}: is {stat.kind if stat else 'not there'}, expected a file")
    return evidence.after.read(path, max_bytes=MOST_BYTES)


def _share(right: Sequence[str], wanted: Sequence[str], what: str) -> CheckResult:
    status = CheckStatus.PASS if len(right) == len(wanted) else CheckStatus.FAIL
    missing = [path for path in wanted if path not in right]
    message = f"{len(right)} of {len(wanted)} {what}" + (f"; not {missing[0]}" if missing else "")
    return CheckResult(status, message, len(right) / len(wanted))


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("restore.json"))
