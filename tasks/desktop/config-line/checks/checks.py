"""Compare the lines of the settings with those that the setup wrote."""

from __future__ import annotations

import json
import re
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError

PATH = "/home/user/.nightly/jobs.ini"
MOST_BYTES = 2**16


def line(evidence: Evidence, key: str) -> CheckResult:
    """The line of the job with this key has the value that was asked for."""
    seen, place = _lines(evidence), _gold(evidence)["places"][key]
    value = re.escape(str(evidence.params[key]))
    found = seen[place] if place < len(seen) else ""
    # Blanks around the sign are nobody's business.
    right = re.fullmatch(rf"[ \t]{{0,9}}{key}[ \t]{{0,9}}=[ \t]{{0,9}}{value}[ \t]{{0,9}}", found)
    status = CheckStatus.PASS if right else CheckStatus.FAIL
    return CheckResult(status, f"line {place + 1} is {found!r:.80}")


def rest_kept(evidence: Evidence) -> CheckResult:
    """All lines but the two of the job are as they were."""
    gold, seen = _gold(evidence), _lines(evidence)
    free = set(gold["places"].values())
    if len(seen) != len(gold["lines"]):
        return CheckResult(CheckStatus.FAIL, f"{len(seen)} lines, expected {len(gold['lines'])}")
    for number, (one, before) in enumerate(zip(seen, gold["lines"], strict=True)):
        if one != before and number not in free:
            return CheckResult(CheckStatus.FAIL, f"line {number + 1} was {before!r:.80}")
    return CheckResult(CheckStatus.PASS, "every other line is as it was")


def _lines(evidence: Evidence) -> list[str]:
    stat = evidence.after.stat(PATH, follow=False)
    if stat is None or stat.kind != "file":
        raise GuestFileError(f"{PATH}: is {stat.kind if stat else 'not there'}, expected a file")
    text = evidence.after.read(PATH, max_bytes=MOST_BYTES).decode("utf-8", "replace")
    return text.rstrip("\n").split("\n")


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("lines.json"))
