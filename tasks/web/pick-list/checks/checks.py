"""Checks which orders were moved on."""

from agentgym import CheckResult, CheckStatus, Evidence


def moved(evidence: Evidence, status: str, day: str, limit: int) -> CheckResult:
    """All orders that should have a status have it."""
    wanted = {n for n, right in _right(evidence, day, limit).items() if right == status}
    if not wanted:
        return CheckResult(CheckStatus.NOT_APPLICABLE, f"no order has to be {status}")
    rows = evidence.tables_after.rows("shop_order", status=status)
    done = wanted & {row["id"] for row in rows}
    if done == wanted:
        return CheckResult(CheckStatus.PASS, f"{len(done)} orders are {status}")
    told = f"not {status}: {sorted(wanted - done)}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def none_wrong(evidence: Evidence, day: str, limit: int) -> CheckResult:
    """No order went further than it should, and those that were not paid stay as they were."""
    steps = ["paid", "packed", "shipped", "delivered"]
    right = _right(evidence, day, limit)
    before = {row["id"]: row["status"] for row in evidence.tables_before.rows("shop_order")}
    wrong = []
    for row in evidence.tables_after.rows("shop_order"):
        if row["id"] not in right and row["status"] != before.get(row["id"]):
            wrong.append(row["id"])
        elif row["id"] in right:
            status = str(row["status"])
            allowed = steps[: steps.index(right[row["id"]]) + 1]
            if status not in allowed:
                wrong.append(row["id"])
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"went too far: {sorted(wrong)}")
    return CheckResult(CheckStatus.PASS, "no order went too far")


def _right(evidence: Evidence, day: str, limit: int) -> dict[object, str]:
    """Return the right status of every paid order."""
    before = evidence.tables_before
    gone = {row["id"] for row in before.rows("shop_product", status="archived")}
    right: dict[object, str] = {}
    for order in before.rows("shop_order", status="paid"):
        products = {
            row["product_id"] for row in before.rows("shop_order_line", order_id=order["id"])
        }
        stays = (
            str(order["placed_at"])[:10] > day
            or order["total_cents"] > 100 * limit
            or bool(products & gone)
        )
        moved_to = "shipped" if order["delivery"] == "express" else "packed"
        right[order["id"]] = "paid" if stays else moved_to
    return right
