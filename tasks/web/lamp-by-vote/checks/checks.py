"""Checks what is in the basket."""

import json

from agentgym import CheckResult, CheckStatus, Evidence


def in_basket(evidence: Evidence, count: int) -> CheckResult:
    """The winner is in the basket in the right number, beside what was there."""
    winner = json.loads(evidence.gold("winner.json"))
    before, after = (
        {row["product_id"]: row["quantity"] for row in tables.rows("shop_cart_line", account_id=1)}
        for tables in (evidence.tables_before, evidence.tables_after)
    )
    wanted = {**before, winner: count}
    status = CheckStatus.PASS if after == wanted else CheckStatus.FAIL
    return CheckResult(status, f"the basket holds {after}, expected {wanted}")
