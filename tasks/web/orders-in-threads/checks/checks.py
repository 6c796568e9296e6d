"""Checks the threads against the orders that they ask for."""

import re

from agentgym import CheckResult, CheckStatus, Evidence

_RIGHT = {"cancelled": "declined", "delivered": "done", "shipped": "answered"}


def arranged(evidence: Evidence, label: str) -> CheckResult:
    """Every thread has the status that its order gives, and the label."""
    after = evidence.tables_after
    wanted = _wanted(evidence)
    tomas = evidence.tables_before.rows("forum_user", handle="tomas")[0]["id"]
    done = []
    for thread, status in wanted.items():
        assigned = {"assignee_id": tomas} if status == "open" else {"assignee_id": None}
        if after.rows("forum_thread", id=thread, status=status, **assigned) and after.rows(
            "forum_label", thread_id=thread, label=label
        ):
            done.append(thread)
    if len(done) == len(wanted):
        return CheckResult(CheckStatus.PASS, f"{len(done)} threads are arranged")
    told = f"not as they should be: {sorted(set(wanted) - set(done))}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def _wanted(evidence: Evidence) -> dict[int, str]:
    before = evidence.tables_before
    wanted: dict[int, str] = {}
    for thread in before.rows("forum_thread", title="Where is my order?"):
        posts = before.rows("forum_post", thread_id=thread["id"])
        found = re.search(r"\b(\d{3,4})\b", str(posts[0]["body"])[:500]) if posts else None
        orders = before.rows("shop_order", id=int(found[1])) if found else []
        if orders and isinstance(thread["id"], int):
            wanted[thread["id"]] = _RIGHT.get(str(orders[0]["status"]), "open")
    return wanted
