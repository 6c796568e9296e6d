"""The restored folder against the folder that the generator backed up."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify.in_place import read_in_place

OUT = "/srv/restore"
LOST = "/srv/lost.txt"
MOST_ENTRIES = 5_000
MOST_BYTES = 2**20


def files(evidence: Evidence) -> CheckResult:
    """The files are back, byte for byte, and no others; credit is the Jaccard index."""
    true = {p: e for p, e in _gold(evidence)["entries"].items() if e[0] == "file"}
    seen = {path: stat for path, stat in _restored(evidence).items() if stat.kind == "file"}
    right = {path for path in true if path in seen and _digest(evidence, path) == true[path][3]}
    either = true.keys() | seen.keys()
    wrong = sorted(either - right)
    message = (
        f"{len(right)} of {len(true)} files are right, {len(seen.keys() - true.keys())} foreign"
    )
    return _share(len(right), len(either), message + (f", e.g. {wrong[0]!r:.80}" if wrong else ""))


def others(evidence: Evidence) -> CheckResult:
    """Folders and links are back, with targets and folders' permissions, and no others."""
    true = {
        path: (e[0], e[1] if e[0] == "dir" else e[4])
        for path, e in _gold(evidence)["entries"].items()
        if e[0] != "file"
    }
    seen = {
        path: (stat.kind, stat.mode if stat.kind == "dir" else stat.target)
        for path, stat in _restored(evidence).items()
        if stat.kind != "file"
    }
    right = {path for path in true if seen.get(path) == true[path]}
    either = true.keys() | seen.keys()
    wrong = sorted(either - right)
    message = f"{len(right)} of {len(true)} folders and links are right"
    return _share(len(right), len(either), message + (f", e.g. {wrong[0]!r:.80}" if wrong else ""))


def metadata(evidence: Evidence) -> CheckResult:
    """Files have the permissions and the time they had; a file that is not there has neither."""
    true = {p: e for p, e in _gold(evidence)["entries"].items() if e[0] == "file"}
    seen = _restored(evidence)
    right = [
        path
        for path, entry in true.items()
        if path in seen and [seen[path].mode, int(seen[path].mtime_s)] == entry[1:3]
    ]
    message = f"{len(right)} of {len(true)} files have their permissions and time"
    return _share(len(right), len(true), message)


def lost(evidence: Evidence) -> CheckResult:
    """The list names the files that cannot be restored, and no others."""
    true = set(_gold(evidence)["lost"])
    text = read_in_place(evidence.after, LOST, max_bytes=MOST_BYTES).decode("utf-8", "replace")
    named = {line.strip().removeprefix("./") for line in text.splitlines() if line.strip()}
    message = f"{len(named & true)} of {len(true)} lost files named, {len(named - true)} others"
    return _share(len(named & true), len(named | true), message)


def _share(part: int, whole: int, message: str) -> CheckResult:
    if part == whole:
        return CheckResult(CheckStatus.PASS, message)
    return CheckResult(CheckStatus.FAIL, message, score=part / whole)


def _restored(evidence: Evidence) -> dict[str, Any]:
    """Return what is below the folder, by path.

    Raises:
        GuestFileError: It is no folder, or there is far more in it than was backed up.
    """
    stat = evidence.after.stat(OUT, follow=False)
    if stat is None or stat.kind != "dir":
        raise GuestFileError(f"{OUT}: there is no such folder")
    found: dict[str, Any] = {}
    for path, entry in evidence.after.walk(OUT):
        found[path.removeprefix(f"{OUT}/")] = entry
        if len(found) > MOST_ENTRIES:
            raise GuestFileError(f"{OUT}: more than {MOST_ENTRIES} entries")
    return found


def _digest(evidence: Evidence, path: str) -> str:
    try:
        data = evidence.after.read(f"{OUT}/{path}", max_bytes=MOST_BYTES)
    except GuestFileError:
        return ""
    return hashlib.sha256(data).hexdigest()


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("truth.json"))
