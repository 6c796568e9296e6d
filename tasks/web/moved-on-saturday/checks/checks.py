"""Checks where the threads are."""

import json

from agentgym import CheckResult, CheckStatus, Evidence


def put_back(evidence: Evidence) -> CheckResult:
    """Every thread that was moved by mistake is in its board again."""
    back = _back(evidence)
    done = [number for number, board in back.items() if _board(evidence, number) == board]
    told = f"{len(done)} of {len(back)} threads are back"
    if len(done) == len(back):
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, len(done) / len(back))


def others_kept(evidence: Evidence) -> CheckResult:
    """Every other thread is in the board in which it was."""
    back = _back(evidence)
    wrong = [
        row["id"]
        for row in evidence.tables_before.rows("forum_thread")
        if row["id"] not in back and _board(evidence, row["id"]) != row["board_id"]
    ]
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"threads that should have stayed: {wrong[:9]}")
    return CheckResult(CheckStatus.PASS, "no other thread was moved")


def _back(evidence: Evidence) -> dict[object, object]:
    return {int(number): board for number, board in json.loads(evidence.gold("back.json")).items()}


def _board(evidence: Evidence, thread: object) -> object:
    rows = evidence.tables_after.rows("forum_thread", id=thread)
    return rows[0]["board_id"] if rows else None
