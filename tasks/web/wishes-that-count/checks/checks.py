"""Checks which wishes are planned."""

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.records import Json


def planned(evidence: Evidence, least: int, label: str) -> CheckResult:
    """All open wishes with enough posts are planned and have the label."""
    wanted = _wanted(evidence, least)
    after = evidence.tables_after
    done = {
        number
        for number in wanted
        if after.rows("forum_thread", id=number, status="planned")
        and after.rows("forum_label", thread_id=number, label=label)
    }
    if done == wanted:
        return CheckResult(CheckStatus.PASS, f"{len(done)} wishes are planned")
    told = f"not planned, or without the label: {sorted(wanted - done)}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def others_kept(evidence: Evidence, least: int) -> CheckResult:
    """No other thread has another status."""
    wanted = _wanted(evidence, least)
    before = {row["id"]: row["status"] for row in evidence.tables_before.rows("forum_thread")}
    wrong = [
        row["id"]
        for row in evidence.tables_after.rows("forum_thread")
        if row["id"] not in wanted and row["status"] != before.get(row["id"])
    ]
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"other threads that changed: {wrong}")
    return CheckResult(CheckStatus.PASS, "the others are as they were")


def _wanted(evidence: Evidence, least: int) -> set[Json]:
    before = evidence.tables_before
    board = before.rows("forum_board", slug="wishes")[0]["id"]
    return {
        row["id"]
        for row in before.rows("forum_thread", board_id=board, status="open")
        if len(before.rows("forum_post", thread_id=row["id"], status="visible")) >= least
    }
