"""Checks of slides-reordered: the deck as it was saved, compared with the one of the start."""

from __future__ import annotations

from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, catalogue
from agentgym.verify.subprocess_reader import ask

DECK = "/home/user/Documents/quarter.pptx"
MOST_BYTES = 16 * 2**20
COMPARED = ("points", "notes", "pictures", "tables", "charts")


def _slides(tree: Any) -> list[dict[str, Any]]:
    """Return the slides of a deck as the pack `office` reads them, without line ends."""
    reader = catalogue.find("verifiers", "office") / "reader.py"
    data = tree.read(DECK, max_bytes=MOST_BYTES)
    slides: list[dict[str, Any]] = ask(reader, {"what": "slides"}, {"file": data}, what=DECK)
    for slide in slides:
        slide["title"] = " ".join(slide["title"].split())
        slide["points"] = [" ".join(text.split()) for text in slide["points"]]
        slide["notes"] = " ".join(slide["notes"].split())
    return slides


def _titles(tree: Any) -> list[str]:
    return [slide["title"] for slide in _slides(tree)]


def _result(holds: bool, message: str) -> CheckResult:
    return CheckResult(CheckStatus.PASS if holds else CheckStatus.FAIL, message[:400])


def swapped(evidence: Evidence, first: str, second: str, dropped: str) -> CheckResult:
    """Two slides have changed places; those beside them, one of which may be gone, have not."""
    exchange = {first: second, second: first}
    expected = [exchange.get(title, title) for title in _titles(evidence.before)]
    seen = _titles(evidence.after)
    if dropped not in seen:
        expected.remove(dropped)
    return _result(seen == expected, f"slides {seen}, expected {expected}")


def dropped(evidence: Evidence, title: str) -> CheckResult:
    """One slide is gone, and no other."""
    expected = sorted(name for name in _titles(evidence.before) if name != title)
    seen = sorted(_titles(evidence.after))
    return _result(seen == expected, f"slides {seen}, expected {expected} in any order")


def hidden(evidence: Evidence, title: str) -> CheckResult:
    """One slide is hidden, and no other."""
    seen = [slide["title"] for slide in _slides(evidence.after) if slide["hidden"]]
    return _result(seen == [title], f"hidden slides {seen}, expected {[title]}")


def contents_kept(evidence: Evidence, dropped: str) -> CheckResult:
    """Every slide but the one to be dropped is there once, with its texts, tables and notes."""
    after = _slides(evidence.after)
    for was in _slides(evidence.before):
        now = [slide for slide in after if slide["title"] == was["title"]]
        if was["title"] == dropped and not now:
            continue
        if len(now) != 1:
            return _result(False, f"{len(now)} slides have the title {was['title']!r}")
        for part in COMPARED:
            if now[0][part] != was[part]:
                message = f"{was['title']!r}: {part} {now[0][part]!r}, before {was[part]!r}"
                return _result(False, message)
    return _result(True, "the slides hold what they held")
