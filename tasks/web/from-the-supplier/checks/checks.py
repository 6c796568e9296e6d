"""Checks the new products against the list."""

import json

from agentgym import CheckResult, CheckStatus, Evidence

_COLUMNS = ("title", "brand", "category", "colour", "price_cents")


def entered(evidence: Evidence) -> CheckResult:
    """Everything that is new is a draft as the list says, and nothing else was made."""
    wanted = json.loads(evidence.gold("wanted.json"))
    categories = {row["id"]: row["name"] for row in evidence.tables_before.rows("shop_category")}
    known = {row["id"] for row in evidence.tables_before.rows("shop_product", status="draft")}
    drafts = evidence.tables_after.rows("shop_product", status="draft")
    made = [row for row in drafts if row["id"] not in known]
    right, wrong = set(), []
    for row in made:
        seen = {**row, "category": categories.get(row["category_id"])}
        facts = [_plain(seen[column]) for column in _COLUMNS]
        if facts == wanted.get(row["sku"]) and row["stock"] == 0:
            right.add(row["sku"])
        else:
            wrong.append(str(row["sku"])[:40])
    told = f"{len(right)} of {len(wanted)} products are right, others: {wrong[:9]}"
    if len(right) == len(wanted) and not wrong:
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, 0.9 * len(right) / len(wanted))


def _plain(value: object) -> object:
    return value.strip() if isinstance(value, str) else value
