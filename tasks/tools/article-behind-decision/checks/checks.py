"""Compares the published text of an article with the text published before."""

import re

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.protocols import Tables


def only_figure(evidence: Evidence, article: int, old: int, new: int) -> CheckResult:
    """The published text is the old one with one figure replaced by another."""
    before = _published(evidence.tables_before, article)
    after = _published(evidence.tables_after, article)
    wanted = re.sub(rf"\b{old}\b", str(new), before, count=1)
    if after == wanted:
        return CheckResult(CheckStatus.PASS, f"{old} is {new} now, and nothing else differs")
    return CheckResult(CheckStatus.FAIL, f"readers see {after!r}, expected {wanted!r}")


def _published(tables: Tables, article: int) -> str:
    row = tables.one("knowledge_article", id=article)
    assert row is not None
    if row["status"] != "published":
        return ""
    version = tables.one("knowledge_version", article_id=article, number=row["published_version"])
    return str(version and version["body"]).strip()
