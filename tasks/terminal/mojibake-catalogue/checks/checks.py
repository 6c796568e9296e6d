"""The clean files and the index against the text that the generator encoded."""

from __future__ import annotations

from collections import Counter

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify.in_place import read_in_place

HOME = "/srv/catalogue"
MOST_BYTES = 2**20


def files(evidence: Evidence) -> CheckResult:
    """Every file reads as it was meant; credit by file."""
    names = evidence.before.list(f"{HOME}/old")
    gold = {name: evidence.gold(f"clean/{name}") for name in names}
    wrong = [name for name in names if _read(evidence, f"clean/{name}") != gold[name]]
    if odd := sorted({*evidence.after.list(f"{HOME}/clean")} - {*names}) if not wrong else []:
        return CheckResult(CheckStatus.FAIL, f"clean has {odd[0]!r:.80}, which old has not", 0.9)
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"all {len(names)} files are as they were meant")
    message = f"{len(wrong)} of {len(names)} files are not as they were meant: {', '.join(wrong)}"
    return CheckResult(CheckStatus.FAIL, message, score=1 - len(wrong) / len(names))


def index_lines(evidence: Evidence) -> CheckResult:
    """The index has every line once, as it was meant, in whatever order."""
    seen = Counter((_read(evidence, "index.csv") or b"").split(b"\n"))
    true = Counter(evidence.gold("index.csv").split(b"\n"))
    if seen == true:
        return CheckResult(CheckStatus.PASS, f"all {true.total() - 1} lines are there")
    missing, wrong = (true - seen).total(), (seen - true).total()
    return CheckResult(CheckStatus.FAIL, f"{missing} lines are missing, {wrong} are wrong")


def index_order(evidence: Evidence) -> CheckResult:
    """The index is sorted as the printed one."""
    seen = (_read(evidence, "index.csv") or b"").split(b"\n")
    true = evidence.gold("index.csv").split(b"\n")
    if seen == true:
        return CheckResult(CheckStatus.PASS, "sorted as the printed index")
    at = next((n for n, (a, b) in enumerate(zip(seen, true, strict=False)) if a != b), len(true))
    lines = [b"".join(part[at : at + 1]).decode("utf-8", "replace") for part in (seen, true)]
    message = f"line {at + 1} is {lines[0]!r:.80}, expected {lines[1]!r:.80}"
    return CheckResult(CheckStatus.FAIL, message)


def _read(evidence: Evidence, name: str) -> bytes | None:
    """Return a file, white space after its last line left aside; None if it cannot be read."""
    try:
        data = read_in_place(evidence.after, f"{HOME}/{name}", max_bytes=MOST_BYTES)
    except GuestFileError:
        return None
    whole = data.rstrip(b"\n")
    return whole + b"\n" if len(whole) < len(data) else data
