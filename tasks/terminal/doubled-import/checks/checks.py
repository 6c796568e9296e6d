"""The repaired ledger against the entries that the generator knows to be true.

An entry is a block of lines; it is for the payment that its ``; bank`` line says, and one whose
amounts do not add up to zero is for none.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal

from agentgym import CheckResult, CheckStatus, Evidence, FileTree
from agentgym.verify.in_place import read_in_place

LEDGER = "/srv/club/ledger.journal"
MOST_BYTES = 2**20
AMOUNT = re.compile(r"^[ \t]+[^;\s][^\n]*?[ \t](-?\d{1,9}\.\d\d)[ \t]*$", re.MULTILINE)
BANK = re.compile(r"^[ \t]+; bank (.*)$", re.MULTILINE)


def once(evidence: Evidence) -> CheckResult:
    """Every payment has as many entries as statement lines; credit for what was put right."""
    true = _payments(_gold(evidence)["entries"])
    start = _wrong(_payments(_entries(evidence.before)), true)
    wrong = _wrong(_payments(_entries(evidence.after)), true)
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"all {true.total()} payments are there once")
    message = f"{len(wrong)} payments ({len(start)} at the start) are missing or there too often"
    share = max(0.0, 1 - len(wrong) / len(start))
    return CheckResult(CheckStatus.FAIL, f"{message}, for example {wrong[0]!r:.100}", score=share)


def entries(evidence: Evidence) -> CheckResult:
    """The entries are the true ones: new ones as the importer writes them, nothing else changed."""
    true = Counter(_block(text) for text in _gold(evidence)["entries"])
    seen = Counter(_entries(evidence.after))
    missing, wrong = true - seen, seen - true
    if not missing and not wrong:
        return CheckResult(CheckStatus.PASS, f"all {true.total()} entries are right")
    message = f"{missing.total()} entries missing, {wrong.total()} wrong"
    return CheckResult(CheckStatus.FAIL, f"{message}, for example {min(missing or wrong)!r:.160}")


def work_kept(evidence: Evidence) -> CheckResult:
    """All entries that were sorted, split, renamed or added by hand are unchanged."""
    hand = Counter(_block(text) for text in _gold(evidence)["by_hand"])
    lost = hand - Counter(_entries(evidence.after))
    if lost:
        message = f"{lost.total()} of {hand.total()} entries made by hand are gone or changed"
        return CheckResult(CheckStatus.FAIL, f"{message}, for example {min(lost)!r:.160}")
    return CheckResult(CheckStatus.PASS, f"all {hand.total()} entries made by hand are there")


def _wrong(seen: Counter[str], true: Counter[str]) -> list[str]:
    return sorted(line for line in {*seen, *true} if seen[line] != true[line])


def _payments(texts: list[str]) -> Counter[str]:
    """Count the entries of each payment; those that were broken off count as none."""
    found: Counter[str] = Counter()
    for text in texts:
        bank = BANK.search(text)
        if bank and sum(map(Decimal, AMOUNT.findall(text))) == 0:
            found[bank[1].strip()] += 1
        elif bank:
            found[f"{bank[1].strip()} (broken off)"] += 1
    return found


def _entries(tree: FileTree) -> list[str]:
    text = read_in_place(tree, LEDGER, max_bytes=MOST_BYTES).decode("utf-8", "replace")
    blocks = re.split(r"\n[ \t]*(?:\n[ \t]*)+", text.strip("\n"))
    return [_block(block) for block in blocks if block.strip()]


def _block(text: str) -> str:
    """Return an entry without the blanks at the ends of its lines."""
    return "\n".join(line.rstrip(" \t") for line in text.strip("\n").split("\n"))


def _gold(evidence: Evidence) -> dict[str, list[str]]:
    truth: dict[str, list[str]] = json.loads(evidence.gold("truth.json"))
    return truth
