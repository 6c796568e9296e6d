"""Compare the two tables with those that the generator of the dumps computed.

Rows are compared as sets, with the overlap as partial credit; order and layout count only where the
rows are right.
"""

from __future__ import annotations

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.verify.in_place import read_in_place

HOME = "/srv/loggers"
MOST_BYTES = 4 * 2**20


def readings(evidence: Evidence) -> CheckResult:
    """Every sample has its temperature, times left aside."""
    seen, true = _rows(evidence, "readings.csv")
    return _overlap([(*r[:2], *r[3:]) for r in seen], [(*r[:2], *r[3:]) for r in true])


def times(evidence: Evidence) -> CheckResult:
    """Every reading has its true time."""
    return _overlap(*_rows(evidence, "readings.csv"))


def excursions(evidence: Evidence) -> CheckResult:
    """Every excursion is there with its bounds and its extreme."""
    return _overlap(*_rows(evidence, "excursions.csv"))


def layout(evidence: Evidence) -> CheckResult:
    """Both files are, byte for byte, laid out as was asked; the last line feed is optional."""
    for name in ("readings.csv", "excursions.csv"):
        data = read_in_place(evidence.after, f"{HOME}/{name}", max_bytes=MOST_BYTES)
        if data.removesuffix(b"\n") != evidence.gold(name).removesuffix(b"\n"):
            message = f"{name} is not as was asked: rows, header, order or line ends"
            return CheckResult(CheckStatus.FAIL, message)
    return CheckResult(CheckStatus.PASS, "laid out as asked")


def _rows(evidence: Evidence, name: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the rows of the agent's table and of the true one, without their headers."""
    data = read_in_place(evidence.after, f"{HOME}/{name}", max_bytes=MOST_BYTES)
    both = (data.decode("utf-8", "replace"), evidence.gold(name).decode())
    seen, true = ([tuple(line.strip().split(",")) for line in text.splitlines()] for text in both)
    return [row for row in seen if row != true[0] and row != ("",)], true[1:]


def _overlap(seen: list[tuple[str, ...]], true: list[tuple[str, ...]]) -> CheckResult:
    """Credit the Jaccard overlap; rows that are there twice count as wrong."""
    found, expected = set(seen), set(true)
    twice = len(seen) - len(found)
    missing, wrong = sorted(expected - found), sorted(found - expected)
    if not missing and not wrong and not twice:
        return CheckResult(CheckStatus.PASS, f"all {len(true)} rows are right")
    message = f"{len(missing)} of {len(true)} missing {missing[:1]}, {len(wrong)} wrong {wrong[:1]}"
    share = len(found & expected) / (len(found | expected) + twice)
    return CheckResult(CheckStatus.FAIL, f"{message}, {twice} there twice", score=share)
