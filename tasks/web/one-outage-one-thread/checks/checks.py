"""Checks which threads were merged."""

from agentgym import CheckResult, CheckStatus, Evidence


def merged(evidence: Evidence, marker: str) -> CheckResult:
    """All later threads about the outage are merged into the first one."""
    first, *others = _about(evidence, marker)
    done = [number for number in others if _ends_in(evidence, number) == first]
    if len(done) == len(others):
        return CheckResult(CheckStatus.PASS, f"{len(done)} threads are merged into {first}")
    told = f"not merged into {first}: {sorted(set(others) - set(done))}"
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(others))


def arranged(evidence: Evidence, marker: str, status: str) -> CheckResult:
    """The first thread has label, status and somebody responsible."""
    first = _about(evidence, marker)[0]
    after = evidence.tables_after
    yuki = evidence.tables_before.rows("forum_user", handle="yuki")[0]["id"]
    right = after.rows("forum_thread", id=first, status=status, assignee_id=yuki)
    if right and after.rows("forum_label", thread_id=first, label="outage"):
        return CheckResult(CheckStatus.PASS, f"thread {first} is arranged")
    return CheckResult(
        CheckStatus.FAIL, f"thread {first} lacks status, label or responsible person"
    )


def others_kept(evidence: Evidence, marker: str) -> CheckResult:
    """No thread about anything else was merged, and none into a wrong thread."""
    first, *others = _about(evidence, marker)
    merged = [
        row["id"]
        for row in evidence.tables_after.rows("forum_thread")
        if row["merged_into"] is not None
    ]
    wrong = [one for one in merged if one not in others or _ends_in(evidence, one) != first]
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"merged wrongly: {wrong}")
    return CheckResult(CheckStatus.PASS, "nothing else was merged")


def _ends_in(evidence: Evidence, thread: object) -> object:
    """Return the thread that holds the posts of a thread now: merges may follow each other."""
    into = {row["id"]: row["merged_into"] for row in evidence.tables_after.rows("forum_thread")}
    seen = []
    while into.get(thread) is not None and thread not in seen:
        seen.append(thread)
        thread = into[thread]
    return thread


def _about(evidence: Evidence, marker: str) -> list[object]:
    """Return the threads about the outage, the first one first."""
    posts = evidence.tables_before.rows("forum_post")
    recent = [post for post in posts if str(post["created_at"])[:10] == "2026-03-01"]
    about = {post["thread_id"] for post in recent if marker in str(post["body"])[:500]}
    threads = evidence.tables_before.rows("forum_thread", board_id=5)
    new = [row for row in threads if row["id"] in about and row["id"] > 600]
    return [row["id"] for row in sorted(new, key=lambda row: str(row["created_at"])[:20])]
