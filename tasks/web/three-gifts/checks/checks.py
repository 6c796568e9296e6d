"""Checks the orders against the list in the draft."""

import re

from agentgym import CheckResult, CheckStatus, Evidence

_LINE = re.compile(
    r"(\d) x ([^(\n]+) \((\w+)\) to ([^,\n]+), ([^,\n]+), ([^,\n]+), ([^,\n]+), (\w+);"
    r" card: ([^\n]+)"
)


def sent(evidence: Evidence, delivery: str) -> CheckResult:
    """Every line of the list is an order, once and exactly."""
    before, after = evidence.tables_before, evidence.tables_after
    drafts = before.rows("forum_draft", user_id=1, title="Presents")
    lines = _LINE.findall(str(drafts[0]["body"])[:3000]) if drafts else []
    known = {row["id"] for row in before.rows("shop_order", account_id=1)}
    orders = [row for row in after.rows("shop_order", account_id=1) if row["id"] not in known]
    done = 0
    for count, title, colour, name, street, postcode, city, country, card in lines:
        found = before.rows("shop_product", title=title, colour=colour, status="active")
        numbers = {row["id"] for row in found}
        place = (name, street, postcode, city, country, delivery, card.strip())
        for order in orders:
            columns = ("name", "street", "postcode", "city", "country", "delivery", "gift_note")
            goods = after.rows("shop_order_line", order_id=order["id"])
            if tuple(str(order[c])[:600].strip() for c in columns) == place and [
                (row["product_id"] in numbers, row["quantity"]) for row in goods
            ] == [(True, int(count))]:
                done += 1
                break
    if done == 3:
        return CheckResult(CheckStatus.PASS, "the three presents are ordered")
    return CheckResult(CheckStatus.FAIL, f"{done} of 3 presents are ordered as listed", done / 3)
