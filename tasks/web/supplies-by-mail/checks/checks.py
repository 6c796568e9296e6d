"""Checks the order against the mails."""

import re

from agentgym import CheckResult, CheckStatus, Evidence

_SENDER = "ida.sorel@fairlead.example"


def ordered(evidence: Evidence) -> CheckResult:
    """The lines that were ordered are those of the mails, with the last numbers."""
    before, after = evidence.tables_before, evidence.tables_after
    wanted: dict[object, int] = {}
    for mail in before.rows("mail_message", sender=_SENDER):
        text = str(mail["body"])[:2000]
        for count, title, colour in re.findall(r"- (\d) x ([^,\n]+), (\w+)", text):
            found = before.rows("shop_product", title=title, colour=colour, status="active")
            if found:
                wanted[found[0]["id"]] = int(count)
    known = {row["id"] for row in before.rows("shop_order", account_id=1)}
    orders = [r["id"] for r in after.rows("shop_order", account_id=1) if r["id"] not in known]
    lines = [line for order in orders for line in after.rows("shop_order_line", order_id=order)]
    got = {line["product_id"]: line["quantity"] for line in lines}
    right = sum(got.get(product) == count for product, count in wanted.items())
    if got == wanted and len(lines) == len(wanted):
        return CheckResult(CheckStatus.PASS, f"{right} things are ordered")
    told = f"ordered {got}, expected {wanted}"
    return CheckResult(CheckStatus.FAIL, told, 0.9 * right / max(len(wanted), 1))
