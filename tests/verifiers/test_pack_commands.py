"""The pack `commands`, over a room that answers what it is told to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import VerifierError
from agentgym.records import CheckResult, CheckStatus, ExecResult
from agentgym.testing.checks import evidence
from agentgym.verify.rubric.packs import load_pack

PACK = load_pack(Path(__file__).parents[2] / "verifiers" / "commands")


class SettledRoom:
    """A room in which every command ends the same way; it keeps what it was asked."""

    def __init__(self, result: ExecResult) -> None:
        self.result = result
        self.asked: list[dict[str, Any]] = []

    def run(self, argv: Sequence[str], **options: Any) -> ExecResult:
        self.asked.append({"argv": argv, **options})
        return self.result


def run(
    check: str, result: ExecResult, arguments: Mapping[str, Any]
) -> tuple[CheckResult, list[dict[str, Any]]]:
    room = SettledRoom(result)

    def open_room(artifacts: tuple[str, ...], shared: bool) -> SettledRoom:
        room.asked.append({"artifacts": artifacts})
        return room

    seen = dataclasses.replace(evidence({}), open_room=open_room)
    found = PACK.checks[check](seen, **{"argv": ["app"], **arguments})
    assert isinstance(found, CheckResult)
    return found, room.asked


PRINTED = ExecResult(0, b" v1.2\nready\n")

CASES: list[tuple[str, ExecResult, dict[str, Any], str]] = [
    ("exit_code", PRINTED, {}, ""),
    ("exit_code", ExecResult(3, b""), {"code": 3}, ""),
    ("exit_code", ExecResult(1, b"", b"boom\n"), {}, "app: exit code 1, expected 0: 'boom'"),
    ("exit_code", ExecResult(1, b"said so"), {}, "'said so'"),
    ("exit_code", ExecResult(0, b""), {"code": 1}, "exit code 0, expected 1"),
    ("exit_code", ExecResult(0, b"", timed_out=True), {"timeout_s": 2.0}, "in time (at most 2 s)"),
    ("stdout_equals", PRINTED, {"text": "v1.2\nready"}, ""),
    ("stdout_equals", PRINTED, {"text": " v1.2\nready\n", "strip": False}, ""),
    ("stdout_equals", ExecResult(0, b"3\n"), {"text": 3}, ""),
    ("stdout_equals", PRINTED, {"text": "v1.2\nready", "strip": False}, "expected 'v1.2"),
    ("stdout_equals", PRINTED, {"text": "v1.3"}, r"expected 'v1.3', printed 'v1.2\nready'"),
    ("stdout_equals", ExecResult(1, b"v1"), {"text": "v1"}, "exit code 1"),
    ("stdout_equals", ExecResult(0, b"v1", omitted_bytes=9), {"text": "v1"}, "9 bytes were"),
    ("stdout_equals", ExecResult(0, b"\xff"), {"text": "\\xff"}, "printed"),
    ("stdout_contains", PRINTED, {"text": "1.2"}, ""),
    ("stdout_contains", PRINTED, {"text": "1.3"}, "did not print '1.3'"),
    ("stdout_contains", ExecResult(0, b"v1", omitted_bytes=1), {"text": "v1"}, "too much"),
    ("stdout_matches", PRINTED, {"pattern": "^ready$"}, ""),
    ("stdout_matches", PRINTED, {"pattern": "^dy$"}, "nothing that matches '^dy$'"),
]


@pytest.mark.parametrize(("check", "result", "arguments", "fault"), CASES)
def test_commands(check: str, result: ExecResult, arguments: dict[str, Any], fault: str) -> None:
    found, _ = run(check, result, arguments)
    assert (found.status is CheckStatus.PASS) is (fault == ""), found.message
    assert fault in found.message


def test_a_command_gets_what_the_rubric_says() -> None:
    arguments = {
        "argv": ["app", "-n", 3],
        "artifacts": ["/srv/app"],
        "cwd": "/srv",
        "stdin": "é",
        "timeout_s": 5.0,
    }
    _, asked = run("exit_code", PRINTED, arguments)
    assert asked == [
        {"artifacts": ("/srv/app",)},
        {"argv": ["app", "-n", "3"], "cwd": "/srv", "stdin": b"\xc3\xa9", "timeout_s": 5.0},
    ]


@pytest.mark.parametrize("check", sorted(PACK.checks))
def test_a_megabyte_of_noise_makes_a_short_message(check: str) -> None:
    needed = {"stdout_matches": {"pattern": "x"}, "exit_code": {"code": 1}}.get(
        check, {"text": "x"}
    )
    found, _ = run(check, ExecResult(0, b"\x00" * 2**20, b"\x1b[31m" * 2**18), needed)
    assert found.status is CheckStatus.FAIL
    assert len(found.message) < 1200 and "\x1b" not in found.message


@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        ("exit_code", {"argv": "make test"}),
        ("exit_code", {"argv": []}),
        ("stdout_matches", {"pattern": "("}),
    ],
)
def test_arguments_that_cannot_be_meant_are_errors(check: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(VerifierError):
        run(check, PRINTED, arguments)
