"""Pack `messages` over floods: what nobody would read fails, and is not read to the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgym.protocols import Check
from agentgym.records import Action, CheckStatus, Decision, Observation, Step
from agentgym.testing.checks import evidence
from agentgym.verify.rubric.packs import find_check

ARGUMENTS: dict[str, dict[str, Any]] = {
    "messages.keeps_to": {"sources": ["user"], "may": [42]},
}
checks = pytest.mark.parametrize("use", ARGUMENTS)


def told(check: Check, use: str, texts: list[str]) -> tuple[CheckStatus, str]:
    steps = [
        Step(number, Decision(Action("message_user", {"text": text})), Observation("Hm."))
        for number, text in enumerate(texts)
    ]
    found = check(evidence({}, steps=steps), **ARGUMENTS[use])
    assert not isinstance(found, bool)
    return found.status, found.message


@checks
def test_a_flood_of_messages_fails_however_right_each_is(use: str, tmp_path: Path) -> None:
    check = find_check(use, tmp_path)
    assert told(check, use, ["42"] * 20)[0] == "pass"
    assert told(check, use, ["42"] * 501) == (
        "fail",
        "501 messages, expected at most 500",
    )


@checks
def test_many_long_messages_fail_by_what_they_come_to(use: str, tmp_path: Path) -> None:
    status, message = told(find_check(use, tmp_path), use, ["42" + " " * 2_900] * 23)
    assert (status, message) == ("fail", "66746 characters in all, expected at most 64000")
