"""A group that is not needed any more ends with the requests of its judges."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from offline_runs import REFUND, TASK, write_refund

from agentgym.agents.registry import create
from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.errors import VerifierError
from agentgym.protocols import Judge
from agentgym.records import Criterion
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.train.rollouts import Assignment, Rollouts
from agentgym.verify.judge.cache import AnswerCache
from agentgym.verify.judge.model import ModelJudge
from agentgym.verify.thread import in_thread

RUBRIC = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "polite"
title = "The answer is polite"
use = "judge.criterion"
with = { criterion = "the answer is polite", show = ["answer"] }
"""


class SilentModel:
    """An endpoint that answers nothing, and counts the requests that are open."""

    def __init__(self) -> None:
        self.begun = self.open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.begun += 1
        self.open += 1
        await reader.read()  # until the client leaves
        self.open -= 1
        writer.close()


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch):
    model = SilentModel()
    async with await asyncio.start_server(model.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        yield model


@pytest.fixture
def judge(model: SilentModel, tmp_path: Path) -> ModelJudge:
    return ModelJudge("reader?retries=0&timeout_s=60", AnswerCache(tmp_path / "answers"))


async def until(condition) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_cancelled_group_ends_the_requests_of_its_judges(
    model: SilentModel, judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_refund(tmp_path, {**REFUND, "checks/rubric.toml": RUBRIC})
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    provider = NoSandboxProvider()
    async with Environment(load_built(TASK), provider, judge=judge) as environment:
        rollouts = Rollouts({TASK: environment}, lambda *_: create("oracle"), jobs=2)
        playing = asyncio.create_task(rollouts.group(Assignment(0, TASK, 1, 2)))
        await until(lambda: model.begun == 2)
        began_s = time.monotonic()
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        await until(lambda: not model.open)
        assert time.monotonic() - began_s < 10
    await provider.close()


async def test_a_grading_that_is_cancelled_before_it_asks_does_not_ask(
    model: SilentModel, judge: Judge
):
    told: list[BaseException] = []
    waiting = asyncio.Event()

    def grade() -> None:
        asyncio.run_coroutine_threadsafe(waiting.wait(), loop).result(20)
        try:
            judge.decide(Criterion("the answer is polite"), ())
        except VerifierError as error:
            told.append(error)

    loop = asyncio.get_running_loop()
    grading = in_thread(grade)
    grading.cancel()
    await asyncio.sleep(0)
    waiting.set()
    await until(lambda: told)
    assert "the grading was cancelled" in str(told[0])
    assert not model.open
