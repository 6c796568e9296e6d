"""Checks what was requested of an order."""

from agentgym import CheckResult, CheckStatus, Evidence


def complete(evidence: Evidence, order: int, reason: str) -> CheckResult:
    """Every piece of the order is requested once, for this reason."""
    lines = evidence.tables_before.rows("shop_order_line", order_id=order)
    before = _counted(evidence, order, before=True, reason="")
    after = _counted(evidence, order, before=False, reason=reason)
    wanted = {row["product_id"]: row["quantity"] for row in lines}
    missing = {p for p, n in wanted.items() if before.get(p, 0) != n}
    done = {p for p in missing if after.get(p, 0) == wanted[p]}
    if done == missing:
        return CheckResult(CheckStatus.PASS, f"all of order {order} is requested")
    told = f"requested {after}, expected {wanted}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(missing))


def _counted(evidence: Evidence, order: int, before: bool, reason: str) -> dict[object, int]:
    tables = evidence.tables_before if before else evidence.tables_after
    found: dict[object, int] = {}
    for row in tables.rows("shop_return", order_id=order):
        quantity = row["quantity"]
        if isinstance(quantity, int) and (not reason or row["reason"] == reason):
            found[row["product_id"]] = found.get(row["product_id"], 0) + quantity
    return found
