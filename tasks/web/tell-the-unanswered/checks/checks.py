"""Checks which threads were replied to."""

from agentgym import CheckResult, CheckStatus, Evidence


def replied(evidence: Evidence, year: int, say: str) -> CheckResult:
    """Every thread without a reply has exactly this reply, once, and is answered."""
    before, after = evidence.tables_before, evidence.tables_after
    tomas = before.rows("forum_user", handle="tomas")[0]["id"]
    board = before.rows("forum_board", slug="repairs")[0]["id"]
    wanted, done = [], []
    for thread in before.rows("forum_thread", board_id=board, locked=0):
        posts = before.rows("forum_post", thread_id=thread["id"], status="visible")
        if len(posts) < 2 and str(thread["created_at"]).startswith(str(year)):
            wanted.append(thread["id"])
            new = after.rows("forum_post", thread_id=thread["id"], author_id=tomas)
            old = before.rows("forum_post", thread_id=thread["id"], author_id=tomas)
            texts = [str(row["body"])[:900].strip() for row in new[len(old) :]]
            if texts == [say] and after.rows("forum_thread", id=thread["id"], status="answered"):
                done.append(thread["id"])
    if len(done) == len(wanted):
        return CheckResult(CheckStatus.PASS, f"{len(done)} threads are answered")
    told = f"not answered as told: {sorted(set(wanted) - set(done))}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(wanted))
