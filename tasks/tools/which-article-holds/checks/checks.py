"""Checks what readers of the knowledge base see."""

from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.protocols import Tables


def readable(evidence: Evidence, article: int, title: str) -> CheckResult:
    """An article is published under a title, with its text unchanged."""
    now = _published(evidence.tables_after, article)
    if now is None:
        return CheckResult(CheckStatus.FAIL, f"article {article} is not published")
    if now["title"] != title:
        return CheckResult(
            CheckStatus.FAIL, f"readers see the title {now['title']!r}, expected {title!r}"
        )
    before = _published(evidence.tables_before, article)
    if before is None or now["body"] != before["body"]:
        return CheckResult(CheckStatus.FAIL, f"the text of article {article} is another one")
    return CheckResult(CheckStatus.PASS, f"article {article} is read under {title!r}")


def _published(tables: Tables, article: int) -> dict[str, Any] | None:
    """Return the published version; None if the article is not published."""
    row = tables.one("knowledge_article", id=article, status="published")
    return row and tables.one(
        "knowledge_version", article_id=article, number=row["published_version"]
    )
