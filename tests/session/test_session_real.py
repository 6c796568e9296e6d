"""Sessions over real sandboxes: the contract that every adapter relies on."""

import asyncio

import pytest
from small_task import write_task

from agentgym.env.environment import Environment
from agentgym.errors import PolicyError
from agentgym.record.store import RunStore
from agentgym.records import Action, Effect
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.session.answers import FailureCode, Score
from agentgym.session.config import SessionConfig
from agentgym.session.server import SessionServer
from agentgym.task.load import load_task

PROBLEMS = BubblewrapProvider().problems()
pytestmark = [
    pytest.mark.usefixtures("session_cache"),
    pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}"),
]
TASK = "demo/hello-v1"


def bash(command):
    return Action("bash", {"command": command})


WRITE, APPEND = bash("echo hello > word"), bash("echo more >> word; wc -l < word")


@pytest.fixture
async def world(tmp_path):
    """An environment with real sandboxes, and a run; nothing of it lives on."""
    provider = BubblewrapProvider()
    environment = Environment(load_task(write_task(tmp_path)), provider)
    store = RunStore.create(tmp_path / "run", {}, [])
    yield environment, store
    assert environment.live == set()
    await environment.close()
    await provider.close()
    store.close()


def served(world, **terms):
    environment, store = world
    return SessionServer(SessionConfig({TASK: environment}, store, **{"seed": 0, **terms}))


async def test_two_sessions_at_once(world):
    server = served(world)
    one, other = server.open("test", "one"), server.open("test", "other")
    await asyncio.gather(one.reset(), other.reset())
    await asyncio.gather(one.step("e1", WRITE), other.step("e1", bash("echo no > word")))
    assert (await one.step("e1", bash("cat word"))).observation.text.strip() == "hello"
    ends = await asyncio.gather(one.finish("e1"), other.step("e1", Action("submit")))
    assert [end.score for end in ends] == [Score(1.0, True), Score(0.25, False)]
    rows = world[1].episodes()
    assert sorted((row.plan.agent, row.verdict.score, row.sandbox) for row in rows) == [
        ("test:one", 1.0, "bubblewrap"), ("test:other", 0.25, "bubblewrap"),
    ]  # fmt: skip


async def test_a_fork_in_the_middle_of_an_episode(world):
    session = served(world).open("test")
    await session.reset()
    await session.step("e1", bash("cd /tmp; echo draft > word"))
    fork = await session.fork("e1")
    await session.step(fork.episode, bash("echo hello > /root/word"))
    seen = await session.step("e1", bash("pwd; cat word; ls /root"))
    assert seen.observation.text.split() == ["/tmp", "draft"]
    ends = [await session.finish(id) for id in ("e1", fork.episode)]
    assert [end.score.score for end in ends] == [0.0, 1.0]
    parent, child = world[1].episodes()
    assert (parent.parent, child.parent, child.steps) == (None, (1, 1), 2)


async def test_a_call_repeated_after_a_lost_answer_is_done_once(world):
    server = served(world)
    session = server.open("test")
    await session.reset(call=1)
    await session.step("e1", WRITE, call=2)
    lost = asyncio.create_task(session.step("e1", bash("sleep 0.3; echo x >> word"), call=3))
    await asyncio.sleep(0.1)
    lost.cancel()
    back = server.find(session.token)
    assert back.state().last_call == 3
    await back.step("e1", bash("sleep 0.3; echo x >> word"), call=3)
    answers = [await back.step("e1", APPEND, call=4) for _ in range(2)]
    assert [answer.observation.text.strip() for answer in answers] == ["3", "3"]
    assert [state.steps for state in back.state().episodes] == [3]
    await back.end(PolicyError("done"))


async def test_a_caller_that_vanishes_is_judged_at_the_idle_deadline(world):
    session = served(world, idle_s=0.3).open("test")
    await session.reset()
    calling = asyncio.create_task(session.step("e1", bash("sleep 0.2; echo hello > word")))
    await asyncio.sleep(0.1)
    calling.cancel()  # the call goes on without its caller
    (row,) = world[1].episodes()
    while session.live or row.verdict is None:
        await asyncio.sleep(0.02)
        (row,) = world[1].episodes()
    assert (row.verdict.status, row.verdict.score, row.steps) == ("scored", 1.0, 1)
    assert row.log == "truncated after 1 steps: nothing was called for 0.3 s\n"


async def test_leaving_in_the_middle_of_a_long_call_does_not_escape_the_verdict(world):
    session = served(world).open("test")
    await session.reset()
    calling = asyncio.create_task(session.step("e1", bash("sleep 0.3; echo bad > word")))
    await asyncio.sleep(0.1)
    calling.cancel()
    await session.end(PolicyError("the client left"))
    (row,) = world[1].episodes()
    assert (row.verdict.status, row.verdict.score) == ("scored", 0.25)
    assert row.error == "the client left"


async def test_a_long_call_of_a_caller_that_left_can_be_cut_short(world):
    session = served(world).open("test")
    await session.reset()
    await session.step("e1", WRITE)
    calls = [asyncio.create_task(session.step("e1", bash("sleep 600"))) for _ in "ab"]
    await asyncio.sleep(0.1)
    leaving = asyncio.create_task(session.leave("the client left"))
    await session.cut_short(PolicyError("the client left"))
    await leaving
    await asyncio.wait(calls)
    (row,) = world[1].episodes()
    assert (row.verdict.status, row.verdict.score, row.steps) == ("scored", 1.0, 1)
    assert row.error == "the client left"


async def test_a_sandbox_that_the_caller_kills_is_judged(world):
    session = served(world).open("test")
    await session.reset()
    await session.step("e1", WRITE)
    end = await session.step("e1", bash("kill -9 -1; kill -9 1; sleep 1; echo still here"))
    if not end.over:
        end = await session.finish("e1")
    assert end.score == Score(1.0, True)


async def test_the_server_ends_with_live_sessions(world, monkeypatch):
    monkeypatch.setattr("agentgym.session.session.STOP_S", 0.2)
    server = served(world)
    sessions = [server.open("test") for _ in range(3)]
    await asyncio.gather(*(session.reset() for session in sessions))
    hanging = asyncio.create_task(sessions[0].step("e1", bash("sleep 600")))
    await asyncio.sleep(0.1)
    await server.stop()
    assert (await hanging).code is FailureCode.SESSION_OVER
    rows = world[1].episodes()
    assert {(row.state, row.verdict.status) for row in rows} == {("done", "error:agent")}
    assert world[0].live == set()


async def test_huge_arguments_cost_a_step_and_nothing_else(world):
    session = served(world).open("test")
    await session.reset()
    for arguments in ({"command": "x" * 3_000_000}, {"command": [[0] * 200_000]}):
        seen = await session.step("e1", Action("bash", arguments))
        assert seen.observation.effect is Effect.ERROR and len(seen.observation.text) < 1_000
    assert not (await session.step("e1", WRITE)).over
    assert (await session.finish("e1")).score.score == 1.0
