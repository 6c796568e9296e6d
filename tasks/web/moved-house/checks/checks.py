"""Checks the orders that were moved to the new address."""

from agentgym import CheckResult, CheckStatus, Evidence


def cancelled(evidence: Evidence) -> CheckResult:
    """Every order that goes to the old address and has not left is cancelled."""
    wanted = {order["id"] for order in _movable(evidence)}
    after = evidence.tables_after.rows("shop_order", account_id=1, status="cancelled")
    done = wanted & {row["id"] for row in after}
    told = f"{len(done)} of {len(wanted)} orders are cancelled"
    if done == wanted:
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def placed(evidence: Evidence, street: str, postcode: str, city: str, country: str) -> CheckResult:
    """For each of them there is one order of the same kind at the new address."""
    before, after = evidence.tables_before, evidence.tables_after
    known = {row["id"] for row in before.rows("shop_order", account_id=1)}
    made = [row for row in after.rows("shop_order", account_id=1) if row["id"] not in known]
    home = ("Nora Winter", street, str(postcode), city, country)
    columns = ("name", "street", "postcode", "city", "country")
    left = [
        (
            str(row["delivery"]),
            str(row["gift_note"])[:600].strip(),
            _lines(evidence, row["id"], False),
        )
        for row in made
        if tuple(str(row[c])[:300].strip() for c in columns) == home
        and (row["status"], row["voucher"]) == ("paid", None)
    ]
    moved = _movable(evidence)
    done = 0
    for order in moved:
        kind = (
            str(order["delivery"]),
            str(order["gift_note"]),
            _lines(evidence, order["id"], True),
        )
        if kind in left:
            left.remove(kind)
            done += 1
    told = f"{done} of {len(moved)} orders are placed again, {len(made)} were placed"
    if done == len(moved) == len(made):
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, 0.9 * done / len(moved))


def _movable(evidence: Evidence) -> list[dict[str, object]]:
    orders = evidence.tables_before.rows("shop_order", account_id=1, street="Lindenallee 12")
    return [
        dict(row)
        for row in orders
        if row["status"] in ("paid", "packed") and row["delivery"] != "pickup"
    ]


def _lines(evidence: Evidence, order: object, before: bool) -> dict[object, object]:
    tables = evidence.tables_before if before else evidence.tables_after
    lines = tables.rows("shop_order_line", order_id=order)
    return {row["product_id"]: row["quantity"] for row in lines}
