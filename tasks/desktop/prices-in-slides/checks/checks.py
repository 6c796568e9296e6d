"""Checks of prices-in-slides: the texts of the slides, one by one."""

from __future__ import annotations

import json
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, catalogue
from agentgym.verify.subprocess_reader import ask

DECK = "/home/user/Sales/furniture.pptx"
MOST_BYTES = 16 * 2**20


def _lines(tree: Any) -> list[str]:
    """Return all texts of a deck, slide by slide, the title of each first."""
    reader = catalogue.find("verifiers", "office") / "reader.py"
    data = tree.read(DECK, max_bytes=MOST_BYTES)
    lines: list[str] = []
    for slide in ask(reader, {"what": "slides"}, {"file": data}, what=DECK):
        state = "hidden" if slide["hidden"] else "shown"
        parts = [slide["title"], state, slide["notes"], *slide["points"]]
        lines += [" ".join(part.split()) for part in parts]
    return lines


def _expected(evidence: Evidence) -> list[str]:
    """Return the texts that the deck has to have, in the order of `_lines`."""
    lines: list[str] = []
    for slide in json.loads(evidence.gold("deck.json")):
        points = [slide["subtitle"]] if "subtitle" in slide else slide["points"]
        lines += [slide["title"], "shown", "", *points]
    return lines


def corrected(evidence: Evidence) -> CheckResult:
    """Every text whose price had to change has the new one; the credit is their share."""
    before, after, expected = _lines(evidence.before), _lines(evidence.after), _expected(evidence)
    if len(after) != len(expected):
        return CheckResult(CheckStatus.FAIL, f"{len(after)} texts, expected {len(expected)}", 0.0)
    due = [n for n, text in enumerate(expected) if text != before[n]]
    wrong = [n for n in due if after[n] != expected[n]]
    message = f"{len(due) - len(wrong)} of {len(due)} prices are right"
    message += f"; {after[wrong[0]]!r}, expected {expected[wrong[0]]!r}" if wrong else ""
    status = CheckStatus.FAIL if wrong else CheckStatus.PASS
    return CheckResult(status, message[:400], 1 - len(wrong) / len(due))


def rest_kept(evidence: Evidence) -> CheckResult:
    """Every text that was right, titles and notes included, is as it was, in its place."""
    before, after, expected = _lines(evidence.before), _lines(evidence.after), _expected(evidence)
    if len(after) != len(before):
        return CheckResult(CheckStatus.FAIL, f"{len(after)} texts, before {len(before)}")
    odd = [
        f"{now!r}, before {was!r}"
        for was, now, right in zip(before, after, expected, strict=True)
        if was == right and now != was
    ]
    status = CheckStatus.FAIL if odd else CheckStatus.PASS
    return CheckResult(status, odd[0][:400] if odd else "all else is as it was")
