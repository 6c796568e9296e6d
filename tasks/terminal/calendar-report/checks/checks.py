"""Compare the two reports with the bookings as they were planned."""

from __future__ import annotations

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify.csv_lines import plain_lines

FOLDER = "/srv/calendars"


def column(evidence: Evidence, name: str) -> CheckResult:
    """A column of the usage is right; credit is for days on which the room was used at all."""
    wanted, seen = _lines(evidence.gold("usage.csv")), _report(evidence, "usage.csv")
    at = wanted[0].split(",").index(name)
    need, have = _used(wanted, at), _used(seen, at)
    if need == have:
        return CheckResult(CheckStatus.PASS, f"{name} of {len(need)} days are right")
    wrong = sorted(need ^ have)
    message = f"{len(need & have)} of {len(need)} days with bookings are right, not {wrong[0]}"
    return CheckResult(CheckStatus.FAIL, message, len(need & have) / len(need | have))


def whole(evidence: Evidence) -> CheckResult:
    """The usage has every line, in order, those of unused days too."""
    wanted, seen = _lines(evidence.gold("usage.csv")), _report(evidence, "usage.csv")
    status = CheckStatus.PASS if wanted == seen else CheckStatus.FAIL
    return CheckResult(status, f"{len(seen)} lines, expected {len(wanted)}")


def clashes(evidence: Evidence) -> CheckResult:
    """The clashes are these; partial credit is the Jaccard index of the lines."""
    wanted, seen = _lines(evidence.gold("clashes.csv")), _report(evidence, "clashes.csv")
    if wanted == seen:
        return CheckResult(CheckStatus.PASS, f"all {len(wanted) - 1} clashes")
    need, have = set(wanted[1:]), set(seen[1:])
    share = len(need & have) / (len(need | have) + len(seen) - 1 - len(have))
    message = f"{len(need - have)} clashes missing, {len(have - need)} wrong"
    return CheckResult(CheckStatus.FAIL, message, min(share, 0.9))


def _used(lines: list[str], at: int) -> set[tuple[str, ...]]:
    """Return room, day and the value of a column, of the lines in which it is not 0."""
    rows = [line.split(",") for line in lines[1:]]
    return {(*row[:2], row[at]) for row in rows if len(row) == 4 and row[at] != "0"}


def _report(evidence: Evidence, name: str) -> list[str]:
    path = f"{FOLDER}/{name}"
    stat = evidence.after.stat(path, follow=False)
    if stat is None or stat.kind != "file":
        raise GuestFileError(f"{path}: is {stat.kind if stat else 'not there'}, expected a file")
    lines = _lines(evidence.after.read(path, max_bytes=2**20))
    header = _lines(evidence.gold(name))[0]
    if not lines or lines[0] != header:
        raise GuestFileError(f"{path}: begins with {lines[:1]}, expected {header!r}")
    return lines


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return plain_lines(text.removesuffix("\n")) if text else []
