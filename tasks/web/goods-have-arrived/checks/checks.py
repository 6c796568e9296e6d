"""Checks the stock against the delivery."""

import re

from agentgym import CheckResult, CheckStatus, Evidence


def booked(evidence: Evidence, skus: str) -> CheckResult:
    """Every delivered product has so many pieces more."""
    wanted = {sku: int(count) for sku, count in re.findall(r"(\w\w-\d+) x(\d+)", skus)}
    done = []
    for sku, count in wanted.items():
        before = evidence.tables_before.rows("shop_product", sku=sku)[0]["stock"]
        if isinstance(before, int) and evidence.tables_after.rows(
            "shop_product", sku=sku, stock=before + count
        ):
            done.append(sku)
    if len(done) == len(wanted):
        return CheckResult(CheckStatus.PASS, f"{len(done)} products are booked")
    told = f"not booked: {sorted(set(wanted) - set(done))}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))
