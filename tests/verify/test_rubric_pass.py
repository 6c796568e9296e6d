"""One order for a whole rubric, and which workers may judge again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_verify_grade import Case, only

from agentgym.records import CheckResult, CheckStatus
from agentgym.verify.checking import Broken
from agentgym.verify.worker import runner
from agentgym.verify.worker.host import Answers
from agentgym.verify.worker.pool import WORKERS, WorkerPool
from agentgym.verify.worker.rubric_pass import RubricPass

PID = "import os, subprocess, threading, time\nfrom agentgym.records import CheckResult\n"


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the orders that workers get; other messages answer questions."""
    given: list[str] = []
    tell = runner.tell

    def told(to: Any, message: Any) -> None:
        given.append(message[0])
        tell(to, message)

    monkeypatch.setattr(runner, "tell", told)
    return given


async def test_a_rubric_takes_one_order_and_a_check_that_broke_takes_another(
    case: Case, orders: list[str]
) -> None:
    exists = 'use = "files.exists"\nwith = { path = "/srv/report.txt" }'
    case.rubric(*(f'id = "{id}"\n{exists}' for id in "abcd"))
    assert (await case.grade()).outcome
    assert [order for order in orders if order not in ("answer", "guest")] == ["open", "judge"]
    orders.clear()
    case.rubric(f'id = "a"\n{exists}', 'id = "b"\nuse = "checks.c"', f'id = "c"\n{exists}')
    case.checks("def c(evidence):\n    return evidence.answer is None or 1 / 0\n")
    verdict = await case.grade()
    assert [str(result.status) for result in verdict.checkpoints] == ["pass", "fail", "pass"]
    assert verdict.state_hash
    given = [order for order in orders if order not in ("answer", "guest")]
    assert given == ["open", "judge", "run", "judge"]


async def test_milestones_alone_need_no_worker(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    case.rubric('id = "a"\nuse = "files.exists"\nwhen = "every_step"\nwith = { path = "/srv" }')
    latched = {"a": CheckResult(CheckStatus.PASS, step=0)}
    changed = await case.grade(latched=latched)
    monkeypatch.setattr(WORKERS, "lend", lambda: pytest.fail("a worker was opened"))
    case.before = case.after
    verdict = await case.grade(latched=latched)
    assert verdict.outcome and verdict.state_hash != changed.state_hash
    monkeypatch.undo()
    case.rubric('id = "b"\nuse = "files.exists"\nwith = { path = "/srv" }')
    assert (await case.grade()).state_hash == verdict.state_hash


@pytest.mark.parametrize(
    ("leaves", "again"),
    [
        ("pass", True),
        ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", False),
        ("subprocess.Popen(['sleep', '60'])", False),
        ("KEPT.append(bytearray(100 * 2**20))", False),
    ],
)
async def test_a_worker_judges_again_only_if_nothing_is_left_in_it(
    case: Case, leaves: str, again: bool
) -> None:
    case.rubric('id = "a"\nuse = "checks.c"')
    pid = "return CheckResult('pass', str(os.getpid()))"
    body = f"if evidence.answer == '7': {leaves}"
    case.checks(f"{PID}KEPT = []\ndef c(evidence):\n    {body}\n    {pid}\n")
    first = only(await case.grade()).message
    case.checks(f"{PID}def c(evidence):\n    {pid}\n")
    second = only(await case.grade()).message
    assert first.isdecimal() and second.isdecimal()
    assert (first == second) is again
    assert Path(f"/proc/{first}").exists() is again


class LyingRunner:
    """A runner whose worker sends these messages."""

    bound = True

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.messages, self.dropped, self.sound = messages, 0, None

    def judge(self, *args: object, **kwargs: object) -> Iterator[dict[str, Any]]:
        yield from self.messages

    def read(self, found: Mapping[str, Any]) -> CheckResult | Broken:
        return runner._read(found)

    def drop(self) -> str:
        self.dropped += 1
        return ""

    def give_back(self, *, sound: bool) -> None:
        self.sound = sound


PASSED = {
    "status": "pass",
    "message": "",
    "score": None,
    "controllable": True,
    "channels": [],
    "contacts": [],
}


def passing(lying: LyingRunner) -> RubricPass:
    answers: Answers = SimpleNamespace(unchanged=lambda: False)  # type: ignore[assignment]
    return RubricPass(
        *(lying, answers, lambda: 0.0),  # type: ignore[arg-type]
        judged=False,
        volatile_paths=(),
    )


@pytest.mark.parametrize(
    "message",
    [
        {"found": "b", **PASSED},
        {"hash": "00", "sound": True},
        {"found": "a"},
        {"found": "a", **PASSED, "status": "perfect"},
        {"found": "a", **PASSED, "channels": 7},
        {"found": ["a"], **PASSED},
    ],
)
def test_a_worker_that_sends_something_else_is_no_evidence(message: dict[str, Any]) -> None:
    found = passing(LyingRunner(message)).result("a", {})
    assert isinstance(found, Broken) and not found.by_grader and found.spent


@pytest.mark.parametrize(
    ("end", "digest", "sound"),
    [
        ({"hash": "00", "sound": True}, "00", True),
        ({"hash": "00", "sound": 1}, "00", False),
        ({"hash": 7, "sound": True}, "", None),
        ({"found": "b", **PASSED}, "", None),
    ],
)
def test_only_a_worker_that_ended_its_judgement_goes_back(
    end: dict[str, Any], digest: str, sound: bool | None
) -> None:
    lying = LyingRunner({"found": "a", **PASSED}, end)
    ours = passing(lying)
    assert ours.result("a", {}) == CheckResult(CheckStatus.PASS)
    assert ours.finish() == digest
    assert (lying.sound, lying.dropped) == (sound, 0 if sound is not None else 1)


def test_workers_that_nobody_needs_end(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = WorkerPool()
    try:
        first, second, third = (pool.lend() for _ in range(3))
        for worker in (first, second):
            pool.give_back(worker)
        assert pool.lend() is second
        monkeypatch.setattr("agentgym.verify.worker.pool._UNUSED_S", -1.0)
        pool.give_back(third)
        assert first.socket.fileno() < 0
        pool.give_back(second)
        assert third.socket.fileno() < 0 and pool.lend() is second
        second.kill()
    finally:
        pool.close()
