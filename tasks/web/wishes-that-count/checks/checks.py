"""Checks which wishes are planned."""

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.protocols import Tables
from agentgym.records import Json


def planned(evidence: Evidence, least: int, label: str) -> CheckResult:
    """All open wishes with enough posts are planned, with the label and those they had."""
    wanted = _wanted(evidence, least)
    before, after = evidence.tables_before, evidence.tables_after
    done = {
        number
        for number in wanted
        if after.rows("forum_thread", id=number, status="planned")
        and _labels(after, number) >= {label, *_labels(before, number)}
    }
    if done == wanted:
        return CheckResult(CheckStatus.PASS, f"{len(done)} wishes are planned")
    told = f"not planned, or without a label: {sorted(wanted - done)}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def others_kept(evidence: Evidence, least: int) -> CheckResult:
    """No other thread has another status or other labels, or lost a label for a while."""
    wanted = _wanted(evidence, least)
    before, after = evidence.tables_before, evidence.tables_after
    known = {row["id"]: row["status"] for row in before.rows("forum_thread")}
    wrong = {
        row["id"]
        for row in after.rows("forum_thread")
        if row["status"] != known.get(row["id"])
        or _labels(before, row["id"]) != _labels(after, row["id"])
    }
    for ref in (ref for call in evidence.calls if call.actor == "agent" for ref in call.changed):
        row = before.at(ref.table, ref.rowid) if ref.table == "forum_label" else None
        if row is not None and ref.kind == "removed":
            wrong.add(row["thread_id"])
    wrong -= wanted
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"other threads that changed: {sorted(wrong)}")
    return CheckResult(CheckStatus.PASS, "the others are as they were")


def _labels(tables: Tables, thread: Json) -> set[str]:
    return {str(row["label"]) for row in tables.rows("forum_label", thread_id=thread)}


def _wanted(evidence: Evidence, least: int) -> set[Json]:
    before = evidence.tables_before
    board = before.rows("forum_board", slug="wishes")[0]["id"]
    return {
        row["id"]
        for row in before.rows("forum_thread", board_id=board, status="open")
        if len(before.rows("forum_post", thread_id=row["id"], status="visible")) >= least
    }
