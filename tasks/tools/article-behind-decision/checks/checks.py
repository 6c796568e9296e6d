"""Compares the published text of an article with the text published before."""

import re

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.protocols import Tables


def only_figure(evidence: Evidence, article: int, old: int, new: int) -> CheckResult:
    """The published text is the old one with one figure replaced by another."""
    after, wanted = _published(evidence.tables_after, article), _wanted(evidence, article, old, new)
    if after == wanted:
        return CheckResult(CheckStatus.PASS, f"{old} is {new} now, and nothing else differs")
    return CheckResult(CheckStatus.FAIL, f"readers see {after!r}, expected {wanted!r}")


def never_wrong(evidence: Evidence, article: int, old: int, new: int) -> CheckResult:
    """No version with another text was ever published, and the last version has none.

    A wrong figure that was saved and put right before readers saw it is no fault.
    """
    tables = evidence.tables_after
    right = {_published(evidence.tables_before, article), _wanted(evidence, article, old, new)}
    row = tables.one("knowledge_article", id=article)
    assert row is not None
    published = {
        call.result["published_version"]
        for call in evidence.calls
        if call.tool == "knowledge_publish" and call.ok and call.result["id"] == article
    }
    for number in sorted({row["version"], *published}):
        if _body(tables, article, number) not in right:
            return CheckResult(CheckStatus.FAIL, f"version {number} has another text")
    return CheckResult(CheckStatus.PASS, f"{len(published)} versions were published, none wrong")


def _wanted(evidence: Evidence, article: int, old: int, new: int) -> str:
    before = _published(evidence.tables_before, article)
    return re.sub(rf"\b{old}\b", str(new), before, count=1)


def _published(tables: Tables, article: int) -> str:
    row = tables.one("knowledge_article", id=article)
    assert row is not None
    if row["status"] != "published":
        return ""
    return _body(tables, article, row["published_version"])


def _body(tables: Tables, article: int, number: int) -> str:
    version = tables.one("knowledge_version", article_id=article, number=number)
    return str(version and version["body"]).strip()
