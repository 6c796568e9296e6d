"""Checks the published version of the article and its unpublished edit."""

from __future__ import annotations

from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.verify.matching import normal


def published(evidence: Evidence) -> CheckResult:
    """The published version has the new rule and no other change."""
    case = _case(evidence)
    row = evidence.tables_after.one("knowledge_article", id=case["article"])
    assert row is not None
    seen = _body(evidence, row["published_version"])
    return _same(
        _sections(seen), _approved(case), f"version {row['published_version']}, which is published"
    )


def waits(evidence: Evidence, section: str) -> CheckResult:
    """The last version is unpublished and has the new rule and the expected section."""
    case = _case(evidence)
    row = evidence.tables_after.one("knowledge_article", id=case["article"])
    assert row is not None
    if row["version"] == row["published_version"]:
        return CheckResult(CheckStatus.FAIL, "nothing waits: the last version is published")
    every = {"Exceptions": case["undecided"], "Who to ask": case["ask"]}
    wanted = {"rule": case["rule"], section.lower(): every[section]}
    sections = _sections(_body(evidence, row["version"]))
    if sections.keys() != {"rule", "exceptions", "who to ask"}:
        return CheckResult(CheckStatus.FAIL, f"expected three sections, got {', '.join(sections)}")
    seen = {name: sections[name] for name in wanted}
    return _same(seen, wanted, f"version {row['version']}, which waits")


def never_out(evidence: Evidence) -> CheckResult:
    """No version that was ever published has undecided text or another rule."""
    case = _case(evidence)
    for call in evidence.calls:
        if call.tool != "knowledge_publish" or not call.ok or call.result["id"] != case["article"]:
            continue
        number = call.result["published_version"]
        if _sections(_body(evidence, number)) != _approved(case):
            return CheckResult(
                CheckStatus.FAIL, f"version {number} was published, and is not right"
            )
    return CheckResult(CheckStatus.PASS, "nothing else was published")


def _approved(case: dict[str, Any]) -> dict[str, str]:
    """Return the sections that readers may see."""
    wanted = {"rule": "rule", "exceptions": "exception", "who to ask": "ask_old"}
    return {section: normal(case[name]) for section, name in wanted.items()}


def _case(evidence: Evidence) -> dict[str, Any]:
    case = evidence.params["case"]
    assert isinstance(case, dict)
    return case


def _body(evidence: Evidence, number: Any) -> str:
    article = _case(evidence)["article"]
    row = evidence.tables_after.one("knowledge_version", article_id=article, number=number)
    return str(row["body"]) if row else ""


def _sections(body: str) -> dict[str, str]:
    """Return the text of each section by its title, both as they are compared."""
    parts = ("\n" + body).split("\n## ")
    found = {"": normal(parts[0])} if parts[0].strip() else {}
    for part in parts[1:]:
        title, _, text = part.partition("\n")
        found[normal(title)] = normal(text)
    return found


def _same(seen: dict[str, str], wanted: dict[str, str], what: str) -> CheckResult:
    wrong = [name for name in {**wanted, **seen} if seen.get(name) != normal(wanted.get(name, ""))]
    if wrong:
        message = f"{what}: {wrong[0]!r} is {seen.get(wrong[0])!r:.120}"
        return CheckResult(CheckStatus.FAIL, f"{message}, not {wanted.get(wrong[0])!r:.120}")
    return CheckResult(CheckStatus.PASS, f"{what} is as it should be")
