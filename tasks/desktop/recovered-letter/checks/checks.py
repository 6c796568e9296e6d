"""Check of recovered-letter: the letter that was saved is the recovered one."""

from __future__ import annotations

import json

from agentgym import CheckResult, CheckStatus, Evidence, catalogue
from agentgym.verify.subprocess_reader import ask

LETTER = "/home/user/Documents/claim.docx"
MOST_BYTES = 16 * 2**20
OPEN = "Total:"


def recovered(evidence: Evidence) -> CheckResult:
    """Every line of the last version is there, in its order; the total may hold anything."""
    reader = catalogue.find("verifiers", "office") / "reader.py"
    data = evidence.after.read(LETTER, max_bytes=MOST_BYTES)
    found = ask(reader, {"what": "document"}, {"file": data}, what=LETTER)
    seen = [_line(text) for _, text in found if text.strip()]
    expected = [_line(text) for text in json.loads(evidence.gold("letter.json"))]
    odd = [one for one, other in zip(seen, expected, strict=False) if one != other]
    message = f"{len(seen)} paragraphs, expected {len(expected)}; differs: {odd[:1]}"
    return CheckResult(CheckStatus.PASS if seen == expected else CheckStatus.FAIL, message[:400])


def _line(text: str) -> str:
    text = " ".join(text.split())
    return OPEN if text.startswith(OPEN) else text
