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
    before, wanted = evidence.tables_before, _unanswered(evidence, year)
    known = {row["id"] for row in before.rows("forum_post")}
    status = {row["id"]: row["status"] for row in before.rows("forum_thread")}
    posts = evidence.tables_after.rows("forum_post")
    touched = [row["thread_id"] for row in posts if row["id"] not in known]
    for row in evidence.tables_after.rows("forum_thread"):
        if row["status"] != status.get(row["id"]):
            touched.append(row["id"])
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
