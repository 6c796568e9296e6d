"""Checks the prices against what was announced."""

import re

from agentgym import CheckResult, CheckStatus, Evidence


def entered(evidence: Evidence) -> CheckResult:
    """All products have the price that was announced last."""
    wanted = _wanted(evidence)
    done = [
        sku
        for sku, cents in wanted.items()
        if evidence.tables_after.rows("shop_product", sku=sku, price_cents=cents)
    ]
    if len(done) == len(wanted):
        return CheckResult(CheckStatus.PASS, f"{len(done)} prices are right")
    told = f"not right: {sorted(set(wanted) - set(done))}"
    return CheckResult(CheckStatus.FAIL, told, _credit(evidence, wanted, done))


def others_kept(evidence: Evidence) -> CheckResult:
    """No other product has another price."""
    wanted = _wanted(evidence)
    before = {
        row["id"]: (row["sku"], row["price_cents"])
        for row in evidence.tables_before.rows("shop_product", status="active")
    }
    after = evidence.tables_after.rows("shop_product", status="active")
    wrong = [
        before[row["id"]][0]
        for row in after
        if row["id"] in before
        and before[row["id"]][1] != row["price_cents"]
        and before[row["id"]][0] not in wanted
    ]
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"other prices that changed: {wrong}")
    return CheckResult(CheckStatus.PASS, "no other price changed")


def _credit(evidence: Evidence, wanted: dict[str, int], done: list[str]) -> float:
    """Return the part that is right, without what was so from the start."""
    before = evidence.tables_before
    open_ones = [
        s for s, c in wanted.items() if not before.rows("shop_product", sku=s, price_cents=c)
    ]
    return len(set(done) & set(open_ones)) / len(open_ones)


def _wanted(evidence: Evidence) -> dict[str, int]:
    before = evidence.tables_before
    mara = before.rows("forum_user", handle="mara")[0]["id"]
    prices: dict[str, int] = {}
    for post in before.rows("forum_post", author_id=mara):
        if str(post["created_at"])[:10] == "2026-03-01":
            for sku, price in re.findall(
                r"(\w\w-\d{4}): €(\d{1,4}\.\d\d)", str(post["body"])[:3000]
            ):
                prices[sku] = round(float(price) * 100)
    return prices
