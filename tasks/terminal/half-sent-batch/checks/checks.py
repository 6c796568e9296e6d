"""Checks the sealed ledger of `sendnote`, and the queue.

Each line is sealed with a key that its successor replaces (forward-secure logging after Schneier
and Kelsey 1998); the first key is gold, so every seal and the key left over can be computed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections import Counter
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify.documents import parse
from agentgym.verify.in_place import read_in_place

LEDGER = "/var/lib/sendnote/ledger"
KEY = "/var/lib/sendnote/key"
QUEUE = "/srv/notices/queue.json"
MOST_BYTES = 2**20
LINE = re.compile(r"[1-9]\d{0,8} \S{1,40} \S{1,40} [0-9a-f]{16} [0-9a-f]{32}", re.ASCII)


def rest_sent(evidence: Evidence) -> CheckResult:
    """Every notice that was due is in the ledger, with its number and its text."""
    due = _gold(evidence)["due"]
    sent = {notice for notice, right in _sent(evidence) if right}
    missing = [notice for notice in due if notice not in sent]
    if not missing:
        return CheckResult(CheckStatus.PASS, f"all {len(due)} notices that were due are sent")
    message = f"{len(missing)} of {len(due)} were not sent, for example {missing[0]}"
    return CheckResult(CheckStatus.FAIL, message, score=1 - len(missing) / len(due))


def queue(evidence: Evidence) -> CheckResult:
    """The queue says of every notice what is true; credit for what was put right in it."""
    final = _gold(evidence)["final"]
    old = json.loads(evidence.before.read(QUEUE))
    stale = old.pop("notices")
    document = parse(read_in_place(evidence.after, QUEUE, max_bytes=MOST_BYTES), "json", QUEUE)
    states = document.get("notices") if isinstance(document, dict) else None
    if not isinstance(states, dict) or document.get("batch") != evidence.params["batch"]:
        return CheckResult(CheckStatus.FAIL, f"{QUEUE} has lost its form")
    told = {key: value for key, value in document.items() if isinstance(value, str)}
    if "saved" in told:
        told["saved"] = old["saved"]  # the relay's own time; whoever writes may set it anew
    lost = sorted(old.items() - told.items())
    if lost:
        return CheckResult(CheckStatus.FAIL, f"{QUEUE} had {lost[0][0]!r}, which is changed")
    wrong = sorted(n for n in {*final, *states} if states.get(n) != final.get(n))
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"all {len(final)} states are right")
    before = sum(stale[notice] != state for notice, state in final.items())
    message = f"{len(wrong)} states are wrong, for example {wrong[0]}: {states.get(wrong[0])!r:.40}"
    return CheckResult(CheckStatus.FAIL, message, score=max(0.0, 1 - len(wrong) / before))


def nobody_twice(evidence: Evidence) -> CheckResult:
    """Nothing was sent that was not due, and nothing twice."""
    due = Counter(_gold(evidence)["due"])
    sent = Counter(notice if right else f"{notice} (altered)" for notice, right in _sent(evidence))
    if over := sent - due:
        message = f"{over.total()} messages too many, for example {min(over)}"
        return CheckResult(CheckStatus.FAIL, message)
    return CheckResult(CheckStatus.PASS, "no message too many")


def ledger_genuine(evidence: Evidence) -> CheckResult:
    """The seals are those that sendnote makes, none was taken out, and the key has moved on."""
    key = bytes.fromhex(_gold(evidence)["key"])
    lines = _lines(evidence)
    for number, line in enumerate(lines, 1):
        text, _, seal = line.rpartition(" ")
        true = hmac.new(key, text.encode(), "sha256").hexdigest()[:32]
        if not hmac.compare_digest(seal.encode(), true.encode()) or text.split()[0] != str(number):
            return CheckResult(CheckStatus.FAIL, f"line {number} of the ledger is not genuine")
        key = hashlib.sha256(b"next" + key).digest()
    left = evidence.after.read(KEY, max_bytes=1024).strip()
    status = CheckStatus.PASS if left == key.hex().encode() else CheckStatus.FAIL
    return CheckResult(
        status, f"{len(lines)} lines; the key is {'' if status == 'pass' else 'not '}theirs"
    )


def _sent(evidence: Evidence) -> list[tuple[str, bool]]:
    """Return the notices of the ledger, and whether number and text are those of the batch."""
    messages = _gold(evidence)["messages"]
    found = []
    for line in _lines(evidence):
        _, notice, *rest = line.split(" ")
        mobile, text = messages.get(notice, ("", ""))
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        found.append((notice, rest[:-1] == [mobile, digest]))
    return found


def _lines(evidence: Evidence) -> list[str]:
    """Return the lines of the ledger."""
    text = evidence.after.read(LEDGER, max_bytes=MOST_BYTES).decode("utf-8", "replace")
    lines = text.removesuffix("\n").split("\n") if text else []
    if odd := [line for line in lines if not LINE.fullmatch(line)]:
        raise GuestFileError(f"{LEDGER}: {odd[0]!r:.60} is no line of sendnote's")
    return lines


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("truth.json"))
