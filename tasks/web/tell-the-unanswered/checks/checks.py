"""Checks which threads were replied to."""

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.records import Json


def replied(evidence: Evidence, year: int, say: str) -> CheckResult:
    """Every thread without a reply has exactly this reply, once, and is answered."""
    before, after = evidence.tables_before, evidence.tables_after
    tomas = before.rows("forum_user", handle="tomas")[0]["id"]
    wanted, done = _unanswered(evidence, year), []
    for thread in wanted:
        new = after.rows("forum_post", thread_id=thread, author_id=tomas)
        old = before.rows("forum_post", thread_id=thread, author_id=tomas)
        texts = [str(row["body"])[:900].strip() for row in new[len(old) :]]
        if texts == [say] and after.rows("forum_thread", id=thread, status="answered"):
            done.append(thread)
    if len(done) == len(wanted):
        return CheckResult(CheckStatus.PASS, f"{len(done)} threads are answered")
    told = f"not answered as told: {sorted(set(wanted) - set(done))}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))


def others_kept(evidence: Evidence, year: int) -> CheckResult:
    """No other thread has a new post or another status."""
    wanted, touched = _unanswered(evidence, year), list[Json]()
    for ref in (ref for call in evidence.calls if call.actor == "agent" for ref in call.changed):
        if ref.row is not None and (ref.table, ref.kind) == ("forum_post", "added"):
            touched.append(ref.row["thread_id"])
        if ref.row is not None and ref.table == "forum_thread":
            was = evidence.tables_before.at("forum_thread", ref.rowid)
            if was is None or was["status"] != ref.row["status"]:
                touched.append(ref.row["id"])
    if wrong := [thread for thread in touched if thread not in wanted]:
        return CheckResult(CheckStatus.FAIL, f"other threads that changed: {wrong[:9]}")
    return CheckResult(CheckStatus.PASS, "the others are as they were")


def _unanswered(evidence: Evidence, year: int) -> list[Json]:
    """Return the threads of a year in which nobody sees a reply."""
    before = evidence.tables_before
    board = before.rows("forum_board", slug="repairs")[0]["id"]
    return [
        thread["id"]
        for thread in before.rows("forum_thread", board_id=board, locked=0)
        if len(before.rows("forum_post", thread_id=thread["id"], status="visible")) < 2
        and str(thread["created_at"]).startswith(str(year))
    ]
