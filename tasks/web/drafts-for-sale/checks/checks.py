"""Checks which drafts are on sale."""

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.records import Json


def on_sale(evidence: Evidence, category: str, least: int) -> CheckResult:
    """All complete drafts of a category are on sale."""
    wanted = _complete(evidence, category, least)
    after = evidence.tables_after
    done = {n for n in wanted if after.rows("shop_product", id=n, status="active")}
    if done == wanted:
        return CheckResult(CheckStatus.PASS, f"{len(done)} drafts are on sale")
    told = f"not on sale: {sorted(wanted - done)}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def none_incomplete(evidence: Evidence, category: str, least: int) -> CheckResult:
    """No other draft has become anything else."""
    wanted = _complete(evidence, category, least)
    drafts = {row["id"] for row in evidence.tables_before.rows("shop_product", status="draft")}
    now = {row["id"] for row in evidence.tables_after.rows("shop_product", status="draft")}
    wrong = sorted(drafts - now - wanted)
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"no longer drafts: {wrong}")
    return CheckResult(CheckStatus.PASS, "the other drafts are as they were")


def _complete(evidence: Evidence, category: str, least: int) -> set[Json]:
    number = evidence.tables_before.rows("shop_category", name=category)[0]["id"]
    drafts = evidence.tables_before.rows("shop_product", status="draft", category_id=number)
    return {
        row["id"]
        for row in drafts
        if row["price_cents"] and row["stock"] >= least and str(row["description"]).strip()
    }
