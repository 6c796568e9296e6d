"""A check that speaks for its worker: whatever it sends, the host reads it as a bad end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_verify_grade import Case
from test_worker_forgery import RUBRIC, TREE, forged

from agentgym.errors import VerifierError
from agentgym.testing.checks import evidence

SENDS = """
import json, os, socket, stat, struct
def send(*messages):
    for fd in range(3, 64):
        try:
            if not stat.S_ISSOCK(os.fstat(fd).st_mode):
                continue
        except OSError:
            continue
        for message in messages:
            text = json.dumps(message).encode()
            os.write(fd, struct.pack(">QQ", len(text), 0) + text)
"""
LIES = [
    {},
    {"ask": 5},
    {"ask": "nothing"},
    {"ask": "read"},
    {"ask": "read", "tree": "__class__", "path": "/x", "max_bytes": 1},
    {"ask": "read", "tree": "after", "path": "/x", "max_bytes": 10**400},
    {"ask": "room.run", "room": 10**30},
    {"ask": "judge", "criterion": 1},
    {"found": 5},
    {"found": "a"},
    {"found": "a", "channels": 5, "contacts": 5},
    {"found": "a", "channels": [], "contacts": [5], "status": "pass", "message": "", "score": []},
    {"found": "a", "channels": [], "contacts": [], "broken": 1, "by_grader": 1, "spent": "no"},
    {"hash": 5, "sound": "yes"},
    {"refused": {}},
    {"found": "trying"},
    {"found": "trying", "number": "x", "name": {}},
    {"found": "broken"},
]


@pytest.mark.parametrize("lie", LIES, ids=json.dumps)
async def test_a_lie_is_a_bad_end_of_a_check(tmp_path: Path, lie: dict[str, object]) -> None:
    case = Case(tmp_path)
    case.rubric('id = "a"\nuse = "checks.c"')
    case.checks(f"{SENDS}\ndef c(evidence):\n    send({lie!r})\n    return True\n")
    try:
        verdict = await case.grade()
    except VerifierError:
        return
    assert verdict.status in ("scored", "error:verifier")


@pytest.mark.parametrize("lie", LIES[-3:], ids=json.dumps)
def test_a_lie_about_forgeries_is_told_or_left_out(tmp_path: Path, lie: dict[str, object]) -> None:
    module = f"{SENDS}\ndef c(evidence):\n    send({lie!r})\n    return True\n"
    for name, what in forged(tmp_path, evidence(TREE, TREE), RUBRIC, module):
        assert isinstance(name, str) and isinstance(what, str)
