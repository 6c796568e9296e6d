"""Check of letter-to-pdf: the PDF says what the letter has to say."""

from __future__ import annotations

import json
import unicodedata

from agentgym import CheckResult, CheckStatus, Evidence, catalogue
from agentgym.verify.subprocess_reader import ask

EXPORT = "/home/user/Letters/visit.pdf"
MOST_BYTES = 16 * 2**20


def exported(evidence: Evidence) -> CheckResult:
    """The PDF has one page, whose text is that of the letter; blanks do not count."""
    reader = catalogue.find("verifiers", "pdf") / "reader.py"
    data = evidence.after.read(EXPORT, max_bytes=MOST_BYTES)
    pages = ask(reader, {}, {"file": data}, what=EXPORT)
    expected = _plain("".join(json.loads(evidence.gold("letter.json"))))
    seen = [_plain(page) for page in pages]
    if seen == [expected]:
        return CheckResult(CheckStatus.PASS, "one page with the text of the letter")
    message = f"{len(seen)} pages with {[page[:150] for page in seen[:2]]}, expected {expected!r}"
    return CheckResult(CheckStatus.FAIL, message[:400])


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())
