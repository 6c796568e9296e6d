"""Checks the order against the basket and what was left of its goods."""

from agentgym import CheckResult, CheckStatus, Evidence


def ordered(evidence: Evidence) -> CheckResult:
    """The order holds what can be had of the basket, and nothing else."""
    wanted, lines = _wanted(evidence), _lines(evidence)
    right = sum(lines.get(product) == count for product, count in wanted.items())
    if lines == wanted:
        return CheckResult(CheckStatus.PASS, f"{right} things are ordered")
    told = f"ordered {lines}, expected {wanted}"
    return CheckResult(CheckStatus.FAIL, told, 0.8 * right / len(wanted))


def delivered(evidence: Evidence, limit: int) -> CheckResult:
    """The one order has the delivery that the value of its goods asks for."""
    before = evidence.tables_before
    worth = 0
    for product, count in _wanted(evidence).items():
        price = before.rows("shop_product", id=product)[0]["price_cents"]
        worth += price * count if isinstance(price, int) else 0
    right = "express" if worth >= 100 * limit else "standard"
    found = [str(order["delivery"]) for order in _orders(evidence)]
    status = CheckStatus.PASS if found == [right] else CheckStatus.FAIL
    return CheckResult(status, f"goods of {worth / 100:.2f}: expected {right}, got {found}")


def _wanted(evidence: Evidence) -> dict[object, int]:
    before = evidence.tables_before
    wanted: dict[object, int] = {}
    for line in before.rows("shop_cart_line", account_id=1):
        (product,) = before.rows("shop_product", id=line["product_id"])
        stock, count = product["stock"], line["quantity"]
        assert isinstance(stock, int) and isinstance(count, int)
        if product["status"] == "active" and stock:
            wanted[product["id"]] = min(stock, count)
    return wanted


def _orders(evidence: Evidence) -> list[dict[str, object]]:
    known = {row["id"] for row in evidence.tables_before.rows("shop_order")}
    after = evidence.tables_after.rows("shop_order", account_id=1)
    return [dict(row) for row in after if row["id"] not in known]


def _lines(evidence: Evidence) -> dict[object, object]:
    after = evidence.tables_after
    orders = _orders(evidence)
    lines = [
        line for order in orders for line in after.rows("shop_order_line", order_id=order["id"])
    ]
    return {line["product_id"]: line["quantity"] for line in lines}
