"""Checks of broken-report: the report as it was saved, compared with the one of the start."""

from __future__ import annotations

import re
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, catalogue
from agentgym.verify.subprocess_reader import ask

REPORT = "/home/user/Documents/annual-report.docx"
MOST_BYTES = 16 * 2**20
OLD, NEW = "Brightwell", "Fairlead"
QUOTED = "“"
NUMBERED = re.compile(r"\d(\.\d)? [A-Z][^.]{0,40}")
HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)


def _paragraphs(tree: Any) -> list[tuple[str, str]]:
    """Return style and text of the paragraphs as the pack `office` reads them."""
    reader = catalogue.find("verifiers", "office") / "reader.py"
    data = tree.read(REPORT, max_bytes=MOST_BYTES)
    found = ask(reader, {"what": "document"}, {"file": data}, what=REPORT)
    return [(style, text.strip()) for style, text in found]


def _texts(tree: Any) -> list[str]:
    return [text for _, text in _paragraphs(tree) if text]


def _result(holds: bool, message: str, score: float | None = None) -> CheckResult:
    return CheckResult(CheckStatus.PASS if holds else CheckStatus.FAIL, message[:400], score)


def headings(evidence: Evidence) -> CheckResult:
    """The numbered lines have the styles of their level, and nothing else is a heading.

    The credit is the share of right headings, less one for each line that is none.
    """
    levels = {
        text: "2" if "." in text.split()[0] else "1"
        for text in _texts(evidence.before)
        if NUMBERED.fullmatch(text)
    }
    found = ((text, HEADING.fullmatch(style)) for style, text in _paragraphs(evidence.after))
    seen = [(text, match[1]) for text, match in found if match and text]
    right = sum(1 for text, level in set(seen) if levels.get(text) == level)
    wrong = [text for text, level in seen if levels.get(text) != level]
    holds = right == len(levels) == len(seen)
    message = f"{right} of {len(levels)} headings are right; wrong: {wrong[:3]}"
    return _result(holds, message, max(0.0, (right - len(wrong)) / len(levels)))


def names(evidence: Evidence) -> CheckResult:
    """The new name stands in place of the old one, but in the quotation."""
    expected = [
        text if text.startswith(QUOTED) else text.replace(OLD, NEW)
        for text in _texts(evidence.before)
    ]
    seen = _texts(evidence.after)
    odd = [one for one, other in zip(seen, expected, strict=False) if one != other]
    odd += ["another number of paragraphs"] * (len(seen) != len(expected))
    return _result(not odd, f"differs: {odd[0]}" if odd else "the names are right")


def no_empty_paragraphs(evidence: Evidence) -> CheckResult:
    """No paragraph is empty, but perhaps the last one."""
    texts = [text for _, text in _paragraphs(evidence.after)]
    number = sum(1 for text in texts[:-1] if not text)
    return _result(number == 0, f"{number} paragraphs are empty")


def text_kept(evidence: Evidence) -> CheckResult:
    """But for the names, every paragraph is there with its words, in its place."""
    expected = [text.replace(OLD, NEW) for text in _texts(evidence.before)]
    seen = [text.replace(OLD, NEW) for text in _texts(evidence.after)]
    odd = [one for one, other in zip(seen, expected, strict=False) if one != other]
    message = f"{len(seen)} paragraphs with text, expected {len(expected)}; differs: {odd[:1]}"
    return _result(seen == expected, message)
