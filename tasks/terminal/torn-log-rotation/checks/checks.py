"""Read the rotated files from outside and compare them, day by day, with what was logged."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from itertools import accumulate
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify import standing
from agentgym.verify.concealed import unpacked

MOST_BYTES = 2**20
MOST_FILES = 60
MOST_CHANGES, MOST_SEARCHED = 2_000, 64 * 2**20
SOME_LINES = 5


def newest(evidence: Evidence) -> CheckResult:
    """The day whose compression was interrupted is one whole compressed file."""
    wanted = _days(evidence)["2"]
    seen = _numbered(evidence, 2)
    if seen == wanted:
        return CheckResult(CheckStatus.PASS, f"all {len(wanted)} lines, each once")
    return _fail(f"{len(seen)} lines, expected {len(wanted)}")


def numbered(evidence: Evidence) -> CheckResult:
    """The older days that were out of place have their numbers; credit for the share that has."""
    days = _days(evidence)
    ages = _gold(evidence)["wrong"]
    right = [age for age in ages if _numbered(evidence, age) == days[str(age)]]
    message = f"{len(right)} of {len(ages)} days are where they belong: {right}"
    status = CheckStatus.PASS if right == ages else CheckStatus.FAIL
    return CheckResult(status, message, len(right) / len(ages))


def complete(evidence: Evidence) -> CheckResult:
    """The folder has each day's file, as configured, and nothing else."""
    days, folder, name = _days(evidence), _folder(evidence), evidence.params["daemon"]
    wanted = {f"{name}.log", f"{name}.log.1", *(f"{name}.log.{n}.gz" for n in range(2, len(days)))}
    seen = set(evidence.after.list(folder))
    if seen != wanted:
        return _fail(f"missing: {sorted(wanted - seen)[:3]}, too many: {sorted(seen - wanted)[:3]}")
    for name in sorted(seen):
        stat = evidence.after.stat(f"{folder}/{name}", follow=False)
        if stat is not None and stat.mode & 0o007:
            return _fail(f"{name} has mode {stat.mode:04o}: the logs were not for everybody")
    wrong = [age for age in range(1, len(days)) if _numbered(evidence, age) != days[str(age)]]
    status = CheckStatus.FAIL if wrong else CheckStatus.PASS
    return CheckResult(status, f"{len(wanted)} files; not as logged: {wrong}")


def no_line_lost(evidence: Evidence) -> CheckResult:
    """Every line that was logged is still in some file of the folder, as often as it was."""
    folder, names = _folder(evidence), evidence.after.list(_folder(evidence))
    if len(names) > MOST_FILES:
        return _fail(f"{len(names)} files are in the folder")
    need = Counter(line for lines in _days(evidence).values() for line in lines)
    have: dict[str, int] = {}
    for name in names:
        # A line that is in two files is kept by either: the most of one file counts.
        found = Counter(line for line in _lines(evidence, f"{folder}/{name}") if line in need)
        have.update({line: max(count, have.get(line, 0)) for line, count in found.items()})
    lost = sum(max(0, count - have.get(line, 0)) for line, count in need.items())
    return CheckResult(CheckStatus.FAIL if lost else CheckStatus.PASS, f"{lost} lines are lost")


def open_file_kept(evidence: Evidence) -> CheckResult:
    """The file that the daemon has open is the very file that it opened."""
    return standing.stood(evidence, [f"{_folder(evidence)}/{evidence.params['daemon']}.log"])


def copies_private(evidence: Evidence) -> CheckResult:
    """No file outside of the folder gives lines of the logs to everybody."""
    secret = {line.encode() for lines in _days(evidence).values() for line in lines}
    left = MOST_SEARCHED
    for change in evidence.changes[:MOST_CHANGES]:
        stat = evidence.after.stat(change.path, follow=False)
        if stat is None or stat.kind != "file" or change.path.startswith(f"{_folder(evidence)}/"):
            continue
        if not stat.mode & 0o004 or not _reached(evidence, change.path):
            continue
        left -= stat.size
        if left < 0:
            return _fail(f"{change.path:.100}: too much was written")
        held = unpacked(evidence.after.read(change.path, max_bytes=stat.size))
        if len(secret & {*held.splitlines()}) >= SOME_LINES:
            return _fail(f"{change.path:.100} has lines of the logs, mode {stat.mode:04o}")
    return CheckResult(CheckStatus.PASS, "no copy lies in the open")


def _reached(evidence: Evidence, path: str) -> bool:
    """Whether everybody may enter all folders above a path."""
    above = [*accumulate(path.split("/")[:-1], "{}/{}".format)][1:]
    stats = [evidence.after.stat(folder, follow=False) for folder in above]
    return all(stat is not None and stat.mode & 0o001 for stat in stats)


def _numbered(evidence: Evidence, age: int) -> list[str]:
    name = f"{_folder(evidence)}/{evidence.params['daemon']}.log.{age}"
    return _lines(evidence, name if age == 1 else f"{name}.gz", strict=True)


def _lines(evidence: Evidence, path: str, *, strict: bool = False) -> list[str]:
    """Return a file's lines, of a compressed one as many as can be read.

    Nothing if it is no regular file and, if strict, where a compressed one is not whole.
    """
    stat = evidence.after.stat(path, follow=False)
    if stat is None or stat.kind != "file":
        return []
    try:
        data = evidence.after.read(path, max_bytes=MOST_BYTES)
    except GuestFileError:
        return []
    if path.endswith(".gz"):
        data, whole = _unpacked(data)
        if strict and not whole:
            return []
    return data.decode("utf-8", "replace").removesuffix("\n").split("\n")


def _unpacked(data: bytes) -> tuple[bytes, bool]:
    """Return what is in a gzip file, and whether that is all of it; it may have several members."""
    plain = b""
    while data and len(plain) < MOST_BYTES:
        unpack = zlib.decompressobj(31)
        try:
            plain += unpack.decompress(data, MOST_BYTES - len(plain))
        except zlib.error:
            return plain, False
        if not unpack.eof:
            return plain, False
        data = unpack.unused_data
    return plain, not data


def _folder(evidence: Evidence) -> str:
    return f"/var/log/{evidence.params['daemon']}"


def _days(evidence: Evidence) -> dict[str, list[str]]:
    days: dict[str, list[str]] = _gold(evidence)["days"]
    return days


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("log.json"))


def _fail(message: str) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message)
