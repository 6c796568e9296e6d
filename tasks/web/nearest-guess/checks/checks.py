"""Checks what was announced, and where."""

import json
import re

from agentgym import CheckResult, CheckStatus, Evidence

_TOMAS = 3


def announced(evidence: Evidence) -> CheckResult:
    """The winner is announced in the thread of this year, once and in these words."""
    game = _game(evidence)
    before = evidence.tables_before.rows("forum_post", author_id=_TOMAS)
    known = {row["id"] for row in before}
    after = evidence.tables_after.rows("forum_post", author_id=_TOMAS)
    posts = [row for row in after if row["id"] not in known]
    said = [str(row["body"])[:300].strip() for row in posts]
    places = [row["thread_id"] for row in posts]
    wanted = rf"The winner is @?{re.escape(str(game['handle']))}\.?"
    right = len(said) == 1 and re.fullmatch(wanted, said[0]) is not None
    if right and places == [game["thread"]]:
        return CheckResult(CheckStatus.PASS, f"{game['handle']} is announced")
    told = f"expected {game['handle']} in thread {game['thread']}, got {said[:3]} in {places[:3]}"
    return CheckResult(CheckStatus.FAIL, told)


def closed(evidence: Evidence) -> CheckResult:
    """The thread of this year is done and locked."""
    thread = _game(evidence)["thread"]
    (row,) = evidence.tables_after.rows("forum_thread", id=thread)
    found = [row["status"] == "done", bool(row["locked"])]
    status = CheckStatus.PASS if all(found) else CheckStatus.FAIL
    told = f"thread {thread} is {row['status']}, locked: {found[1]}"
    return CheckResult(status, told, sum(found) / 2)


def only_there(evidence: Evidence) -> CheckResult:
    """No other thread has changed."""
    thread = _game(evidence)["thread"]
    before = {row["id"]: row for row in evidence.tables_before.rows("forum_thread")}
    wrong = [
        row["id"]
        for row in evidence.tables_after.rows("forum_thread")
        if row["id"] != thread and before.get(row["id"]) != row
    ]
    if wrong:
        return CheckResult(CheckStatus.FAIL, f"other threads that changed: {wrong[:9]}")
    return CheckResult(CheckStatus.PASS, "no other thread has changed")


def _game(evidence: Evidence) -> dict[str, object]:
    found: dict[str, object] = json.loads(evidence.gold("winner.json"))
    return found
