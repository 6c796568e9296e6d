"""Checks which returns were decided, and how."""

from agentgym import CheckResult, CheckStatus, Evidence

_DAMAGED = ("Arrived damaged", "Wrong colour")
_LARGE_CENTS = 20_000


def decided(
    evidence: Evidence, status: str, since: str, fit_since: str, note: str = ""
) -> CheckResult:
    """All returns that should have a status have it, and the note."""
    wanted = [n for n, right in _right(evidence, since, fit_since).items() if right == status]
    rows = {row["id"]: row for row in evidence.tables_after.rows("shop_return")}
    done = [
        number
        for number in wanted
        if number in rows
        and rows[number]["status"] == status
        and (not note or str(rows[number]["note"]).strip() == note)
    ]
    left = sorted(set(wanted) - set(done))
    if not left:
        return CheckResult(CheckStatus.PASS, f"{len(done)} returns are {status}")
    told = f"not {status}{' with the note' if note else ''}: {left}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def nothing_wrong(evidence: Evidence, since: str, fit_since: str) -> CheckResult:
    """No return has another decision than the rules give, not even if it should have none."""
    right = _right(evidence, since, fit_since)
    rows = evidence.tables_after.rows("shop_return")
    wrong = [
        row["id"]
        for row in rows
        if row["id"] in right and row["status"] not in ("requested", right[row["id"]])
    ]
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"decided against the rules: {wrong}")
    return CheckResult(CheckStatus.PASS, "every decision follows the rules")


def _right(evidence: Evidence, since: str, fit_since: str) -> dict[object, str]:
    """Return the right status of every return that was waiting."""
    orders = {row["id"]: row for row in evidence.tables_before.rows("shop_order")}
    right: dict[object, str] = {}
    for row in evidence.tables_before.rows("shop_return", status="requested"):
        order = orders[row["order_id"]]
        day = str(order["placed_at"])[:10]
        if order["total_cents"] > _LARGE_CENTS:
            right[row["id"]] = "requested"
        else:
            from_day = {"Does not fit": fit_since, **dict.fromkeys(_DAMAGED, since)}
            accepted = day >= from_day.get(str(row["reason"]), "9999")
            right[row["id"]] = "approved" if accepted else "refused"
    return right
