"""Checks the spelling of brands."""

from agentgym import CheckResult, CheckStatus, Evidence


def corrected(evidence: Evidence, wrong: str, right: str) -> CheckResult:
    """All products for sale with the wrong brand have the right one."""
    rows = evidence.tables_before.rows("shop_product", brand=wrong, status="active")
    wanted = {row["id"] for row in rows}
    after = evidence.tables_after
    done = {number for number in wanted if after.rows("shop_product", id=number, brand=right)}
    if done == wanted:
        return CheckResult(CheckStatus.PASS, f"{len(done)} products are corrected")
    told = f"not corrected: {sorted(wanted - done)}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))
