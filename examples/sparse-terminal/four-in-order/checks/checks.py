"""Compare the first lines of the file with the colours that were asked for."""

from __future__ import annotations

from agentgym import CheckResult, CheckStatus, Evidence

PATH = "/root/order"
NAMES = ("first", "second", "third", "fourth")


def begins(evidence: Evidence, count: int, exactly: bool = False) -> CheckResult:
    """The file begins with the first colours; with `exactly` it has no further line."""
    lines = evidence.after.read(PATH, max_bytes=10_000).split(b"\n")
    wanted = [str(evidence.params[name]).encode() for name in NAMES[:count]]
    seen = lines[:-1] if exactly else lines[:count]
    passed = seen == wanted and len(lines) > count and (not exactly or lines[-1] == b"")
    told = f"expected {wanted}, the file has {lines[: count + 1]}"
    return CheckResult(CheckStatus.PASS if passed else CheckStatus.FAIL, told)
