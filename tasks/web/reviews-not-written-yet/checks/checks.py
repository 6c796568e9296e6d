"""Checks the reviews of the products of an order."""

from agentgym import CheckResult, CheckStatus, Evidence


def written(evidence: Evidence, order: int, stars: int, text: str) -> CheckResult:
    """Every product of the order that had no review of the customer has this one."""
    before, after = evidence.tables_before, evidence.tables_after
    products = [row["product_id"] for row in before.rows("shop_order_line", order_id=order)]
    missing = [p for p in products if not before.rows("shop_review", product_id=p, account_id=1)]
    done = [
        product
        for product in missing
        for row in after.rows("shop_review", product_id=product, account_id=1)
        if row["stars"] == stars and str(row["text"])[:600].strip() == text
    ]
    if len(done) == len(missing):
        return CheckResult(CheckStatus.PASS, f"{len(done)} reviews are written")
    told = f"without this review: {sorted(set(missing) - set(done))}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(missing))
