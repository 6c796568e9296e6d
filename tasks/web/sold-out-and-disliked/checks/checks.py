"""Checks which products were put into the archive."""

from agentgym import CheckResult, CheckStatus, Evidence


def archived(evidence: Evidence, category: str, stars: int) -> CheckResult:
    """All products that are sold out and disliked are in the archive."""
    wanted = _wanted(evidence, category, stars)
    rows = evidence.tables_after.rows("shop_product", status="archived")
    done = wanted & {row["id"] for row in rows}
    told = f"{len(done)} of {len(wanted)} products are in the archive"
    if done == wanted:
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def others_kept(evidence: Evidence, category: str, stars: int) -> CheckResult:
    """Every other product has the status that it had."""
    wrong = set()
    # Whatever else changes its status leaves or joins one of these two.
    for status in ("draft", "archived"):
        old, new = (
            {row["id"] for row in tables.rows("shop_product", status=status)}
            for tables in (evidence.tables_before, evidence.tables_after)
        )
        wrong |= old ^ new
    wrong -= _wanted(evidence, category, stars)
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"{len(wrong)} other products have changed")
    return CheckResult(CheckStatus.PASS, "no other product has another status")


def _wanted(evidence: Evidence, category: str, stars: int) -> set[object]:
    before = evidence.tables_before
    number = before.rows("shop_category", name=category)[0]["id"]
    found: set[object] = set()
    for product in before.rows("shop_product", category_id=number, status="active", stock=0):
        reviews = before.rows("shop_review", product_id=product["id"], status="published")
        given = [row["stars"] for row in reviews if isinstance(row["stars"], int)]
        if len(given) >= 2 and sum(given) < stars * len(given):
            found.add(product["id"])
    return found
