"""Compare library, duplicates and notes with what the generator wrote and merged."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from weakref import WeakKeyDictionary

from agentgym import CheckResult, CheckStatus, Evidence, FileTree, GuestFileError
from agentgym.verify.csv_lines import plain_lines

LIBRARY, DUPLICATES = "/srv/photos/library", "/srv/photos/duplicates"
MOST_BYTES = 2**18
MOST_ENTRIES = 5_000
_KNOWN: WeakKeyDictionary[FileTree, dict[str, tuple[str, int]]] = WeakKeyDictionary()


def moved(evidence: Evidence) -> CheckResult:
    """Every duplicate is with the duplicates and no more in the library; credit for the share."""
    gold = _gold(evidence)
    known = {f"{LIBRARY}/{path}" for path in (*gold["files"], *gold["texts"], *gold["changed"])}
    photos = {digest for digest, _ in gold["files"].values()}
    for path, (digest, _) in _files(evidence).items():
        if digest in photos and path.startswith(f"{LIBRARY}/") and path not in known:
            return _fail(f"{path.removeprefix(LIBRARY)!r:.100} is one more copy of a photo")
    right = [
        path
        for path in gold["moved"]
        if not _digest(evidence, f"{LIBRARY}/{path}")
        and _files(evidence).get(f"{DUPLICATES}/{path}") == tuple(gold["files"][path])
    ]
    return _share(len(right), len(gold["moved"]), "duplicates were moved")


def notes_moved(evidence: Evidence) -> CheckResult:
    """The notes of the duplicates went with them; credit for the share."""
    gold = _gold(evidence)
    right = [
        path
        for path in gold["notes_moved"]
        if not _digest(evidence, f"{LIBRARY}/{path}")
        and _files(evidence).get(f"{DUPLICATES}/{path}")
        == (gold["texts"][path], _time(evidence, path))
    ]
    return _share(len(right), len(gold["notes_moved"]), "notes were moved")


def merged(evidence: Evidence) -> CheckResult:
    """The notes of the photos that stay have what was written about any copy; share of those."""
    gold = _gold(evidence)
    changed, right, example = gold["changed"], 0, ""
    known = {*gold["files"], *gold["texts"], *changed}
    for path in _files(evidence):
        name = path.removeprefix(f"{LIBRARY}/")
        if name != path and name.endswith(".json") and name not in known:
            return _fail(f"{name!r} is about a photo of which nobody wrote anything")
    for path, wanted in changed.items():
        try:
            same = json.loads(_regular(evidence, f"{LIBRARY}/{path}")) == wanted
        except (GuestFileError, ValueError, RecursionError):
            same = False
        right += same
        example = example or ("" if same else f"; not {path!r}")
    return _share(right, len(changed), f"notes are merged{example}")


def report(evidence: Evidence) -> CheckResult:
    """The report has a line for each photo moved; partial credit is the Jaccard index."""
    pairs = _gold(evidence)["moved"].items()
    lines = [f"{path},{kept}" for path, kept in sorted(pairs, key=lambda pair: pair[0].encode())]
    text = _regular(evidence, "/srv/photos/report.csv").decode("utf-8", "replace")
    head, *seen = [line.rstrip("\r") for line in plain_lines(text) if line.strip()] or [""]
    if head != "moved,kept":
        return _fail(f"report.csv: begins with {head!r:.60}, expected 'moved,kept'")
    if seen == lines:
        return CheckResult(CheckStatus.PASS, f"all {len(lines)} lines")
    need, have = set(lines), set(seen)
    share = len(need & have) / (len(need | have) + len(seen) - len(have))
    message = f"{len(need - have)} lines missing, {len(have - need)} wrong"
    return CheckResult(CheckStatus.FAIL, message, min(share, 0.9))


def rest_kept(evidence: Evidence) -> CheckResult:
    """Files that are not duplicates are unchanged, with their contents and times."""
    gold = _gold(evidence)
    for path, (digest, mtime) in gold["files"].items():
        if path in gold["moved"]:
            continue
        seen, time = _files(evidence).get(f"{LIBRARY}/{path}", ("", 0))
        if seen != digest:
            return _fail(f"{path} should have stayed as it was")
        if time != mtime:
            return _fail(f"{path} has another time than it had")
    for path, digest in gold["texts"].items():
        if path in gold["notes_moved"] or path in gold["changed"]:
            continue
        if _digest(evidence, f"{LIBRARY}/{path}") != digest:
            if _written_again(evidence, path):
                continue
            return _fail(f"{path} should have stayed as it was")
        stat = evidence.before.stat(f"{LIBRARY}/{path}")
        if stat is None or int(stat.mtime_s) != _files(evidence)[f"{LIBRARY}/{path}"][1]:
            return _fail(f"{path} has another time than it had")
    return CheckResult(CheckStatus.PASS, "everything else is as it was")


def nothing_lost(evidence: Evidence) -> CheckResult:
    """No copy was deleted: each is in the library or with the duplicates."""
    gold = _gold(evidence)
    for path, (digest, _) in gold["files"].items():
        if not any(_digest(evidence, f"{top}/{path}") == digest for top in (LIBRARY, DUPLICATES)):
            return _fail(f"{path} is gone")
    for path, digest in gold["texts"].items():
        there = any(_digest(evidence, f"{top}/{path}") == digest for top in (LIBRARY, DUPLICATES))
        if not there and path not in gold["changed"] and not _written_again(evidence, path):
            return _fail(f"{path} is gone")
    return CheckResult(CheckStatus.PASS, f"all {len(gold['files'])} photos are there")


def _written_again(evidence: Evidence, path: str) -> bool:
    """Whether a note of a photo that has copies holds what it did, in another layout.

    Nothing had to be merged into it, but whoever merges all notes alike writes it again.
    """
    if path.removesuffix(".json") not in _gold(evidence)["moved"].values():
        return False
    try:
        seen = json.loads(_regular(evidence, f"{LIBRARY}/{path}"))
    except (GuestFileError, ValueError, RecursionError):
        return False
    return bool(seen == json.loads(evidence.before.read(f"{LIBRARY}/{path}")))


def _share(right: int, total: int, what: str) -> CheckResult:
    status = CheckStatus.PASS if right == total else CheckStatus.FAIL
    return CheckResult(status, f"{right} of {total} {what}", right / total)


def _time(evidence: Evidence, path: str) -> int:
    """Return when a file of the library was last modified, before the episode."""
    stat = evidence.before.stat(f"{LIBRARY}/{path}", follow=False)
    return int(stat.mtime_s) if stat else 0


def _digest(evidence: Evidence, path: str) -> str:
    return _files(evidence).get(path, ("", 0))[0]


def _files(evidence: Evidence) -> dict[str, tuple[str, int]]:
    """Return digest and time of every file and link; each is read once for an episode."""
    if evidence.after not in _KNOWN:
        found: dict[str, tuple[str, int]] = {}
        for top in (LIBRARY, DUPLICATES):
            stat = evidence.after.stat(top, follow=False)
            if stat is None or stat.kind != "dir":
                continue
            for number, (path, stat) in enumerate(evidence.after.walk(top)):
                if number == MOST_ENTRIES:
                    raise GuestFileError(f"{top}: holds far more than it did")
                if stat.kind == "dir":
                    continue
                small = stat.kind == "file" and stat.size <= MOST_BYTES
                data = evidence.after.read(path, max_bytes=MOST_BYTES) if small else b"?"
                found[path] = (hashlib.sha256(data).hexdigest(), int(stat.mtime_s))
        _KNOWN[evidence.after] = found
    return _KNOWN[evidence.after]


def _regular(evidence: Evidence, path: str) -> bytes:
    stat = evidence.after.stat(path, follow=False)
    if stat is None or stat.kind != "file":
        raise GuestFileError(f"{path}: is {stat.kind if stat else 'not there'}, expected a file")
    return evidence.after.read(path, max_bytes=MOST_BYTES)


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("library.json"))


def _fail(message: str) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message)
