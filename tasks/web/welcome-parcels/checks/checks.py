"""Checks the orders against the list, and the list against the orders."""

import json

from agentgym import CheckResult, CheckStatus, Evidence

_COLUMNS = ("street", "postcode", "city", "country", "delivery", "gift_note", "status")


def sent(evidence: Evidence) -> CheckResult:
    """Everybody who waits gets one parcel, as the list says, and nobody else gets one."""
    people = _wanted(evidence)["people"]
    done = [name for name in people if _order_of(evidence, name, people[name])]
    made = len(_orders(evidence))
    told = f"{len(done)} of {len(people)} parcels are sent as the list says, {made} orders"
    if len(done) == len(people) == made:
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, 0.9 * len(done) / len(people))


def noted(evidence: Evidence) -> CheckResult:
    """The number of each order is in its line."""
    wanted, after = _wanted(evidence), evidence.tables_after
    people, done = wanted["people"], 0
    for name, line in people.items():
        cells = after.rows("sheets_cell", sheet_id=wanted["sheet"], row=line[0], col=6)
        order = _order_of(evidence, name, line)
        # A number is kept as a float, a text as it was typed.
        found = [str(cell["value"])[:20].removesuffix(".0").strip() for cell in cells]
        done += order is not None and found == [str(order)]
    told = f"{done} of {len(people)} numbers are noted"
    if done == len(people):
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, done / len(people))


def _wanted(evidence: Evidence) -> dict[str, dict[str, list[object]]]:
    found: dict[str, dict[str, list[object]]] = json.loads(evidence.gold("wanted.json"))
    return found


def _orders(evidence: Evidence) -> list[dict[str, object]]:
    known = {row["id"] for row in evidence.tables_before.rows("shop_order")}
    rows = evidence.tables_after.rows("shop_order", account_id=1)
    return [dict(row) for row in rows if row["id"] not in known]


def _order_of(evidence: Evidence, name: str, line: list[object]) -> object:
    """Return the number of the one order that is right for somebody; None without it."""
    _, *place, title, colour = line
    place.append("paid")
    products = evidence.tables_before.rows("shop_product", title=title, colour=colour)
    goods = {row["id"] for row in products if row["status"] == "active"}
    mine = [o for o in _orders(evidence) if str(o["name"])[:99].strip() == name]
    if len(mine) != 1 or [str(mine[0][c])[:300].strip() for c in _COLUMNS] != place:
        return None
    lines = evidence.tables_after.rows("shop_order_line", order_id=mine[0]["id"])
    right = [(row["product_id"] in goods, row["quantity"]) for row in lines] == [(True, 1)]
    return mine[0]["id"] if right else None
