"""Calls with numbers: each is done once, and a caller that lost the answer gets it again."""

import asyncio

import numpy as np
import pytest
from counter_sessions import ADD, SUBMIT, begun, config_of, opened, slow_world, store

from agentgym.records import Action, Observation
from agentgym.session import calls as calls_module
from agentgym.session.answers import Failure, FailureCode, Reply
from agentgym.session.calls import WINDOW, Calls
from agentgym.session.server import SessionServer

__all__ = ["store"]


async def test_a_call_sent_twice_is_done_once(store):
    session = opened(store)
    first = await session.reset(call=1)
    assert await session.reset(call=1) is first
    step = await session.step(first.episode, ADD, call=2)
    assert step.observation.data == {"number": 2}
    for _ in range(3):
        assert await session.step(first.episode, ADD, call=2) is step
    fork = await session.fork(first.episode, call=3)
    assert await session.fork(first.episode, call=3) is fork
    end = await session.step(first.episode, SUBMIT, call=4)
    assert await session.step(first.episode, SUBMIT, call=4) is end and end.score.score == 0.5
    closed = await session.close(fork.episode, call=5)
    assert await session.close(fork.episode, call=5) is closed
    assert [len(store.steps(row.id)) for row in store.episodes()] == [2, 1]


async def test_a_running_call_is_joined(store):
    config, began, go_on = slow_world(store)
    server = SessionServer(config)
    session = server.open("test")
    id = (await session.reset()).episode
    lost = asyncio.create_task(session.step(id, ADD, call=1))
    await began.wait()
    lost.cancel()  # the connection was lost
    await asyncio.wait({lost})
    again = [asyncio.create_task(server.find(session.token).step(id, ADD, call=1)) for _ in "ab"]
    await asyncio.sleep(0)
    go_on.set()
    assert [(await one).observation.data["number"] for one in again] == [2, 2]
    assert len(store.steps(1)) == 1


async def test_a_call_with_a_number_is_done_though_its_caller_is_gone(store):
    config, began, go_on = slow_world(store)
    session = SessionServer(config).open("test")
    id = (await session.reset()).episode
    first, waiting = (asyncio.create_task(session.step(id, ADD, call=n)) for n in (1, 2))
    await began.wait()
    first.cancel()
    waiting.cancel()  # it waits for its turn
    await asyncio.wait({first, waiting})
    go_on.set()
    assert (await session.step(id, ADD, call=2)).observation.data["number"] == 4


async def test_a_late_answer_is_fetched_with_the_number(store):
    config, _, go_on = slow_world(store, call_s=0.05)
    session = SessionServer(config).open("test")
    id = await _patient_reset(session)
    late = await session.step(id, ADD, call=2)
    assert late.code is FailureCode.LATE and "send it again" in late.message
    go_on.set()
    seen = await _repeated(lambda: session.step(id, ADD, call=2))
    assert seen.observation.data["number"] == 2
    assert len(store.steps(1)) == 1


async def test_a_late_call_without_a_number_is_done_only_if_it_has_begun(store):
    config, _, go_on = slow_world(store, call_s=0.05)
    session = SessionServer(config).open("test")
    id = await _patient_reset(session)
    for _ in range(2):
        late = await session.step(id, ADD)
        assert late.code is FailureCode.LATE and "cannot be had" in late.message
    go_on.set()
    seen = await _repeated(lambda: session.step(id, ADD, call=2))
    assert seen.observation.data["number"] == 4


async def test_a_number_stands_for_one_call(store):
    session, id = await begun(store)
    await session.step(id, ADD, call=7)
    others = [
        session.step(id, Action("add", {"n": 3}), call=7),
        session.step("e2", ADD, call=7),
        session.finish(id, call=7),
        session.reset(call=7),
    ]
    for other in others:
        answer = await other
        assert answer.code is FailureCode.NUMBER_TAKEN and "expected the number 8" in answer.message
    assert len(store.steps(1)) == 1 and session.live == 1


@pytest.mark.parametrize("number", [0, -1, 1.0, True, "1", WINDOW + 1, 10**30, [1]])
async def test_a_wrong_number_is_refused(store, number):
    session, id = await begun(store)
    answer = await session.step(id, ADD, call=number)
    assert answer.code is FailureCode.INVALID and len(answer.message) < 200
    assert store.steps(1) == []


async def test_a_refused_call_does_not_use_up_its_number(store):
    session, id = await begun(store)
    nan = Action("add", {"n": float("nan")})
    assert (await session.step(id, nan, call=1)).code is FailureCode.INVALID
    assert isinstance(await session.step(id, ADD, call=1), Reply)


async def test_numbers_may_come_in_any_order(store):
    session, id = await begun(store)
    for number in (3, 1, 2):
        assert isinstance(await session.step(id, ADD, call=number), Reply)
    assert (await session.step(id, ADD, call=1)).observation.data["number"] == 4


async def test_old_answers_are_forgotten_and_their_calls_not_done_again(store):
    session, id = await begun(store)
    await session.step(id, ADD, call=1)
    await session.step(id, ADD, call=WINDOW)
    assert isinstance(await session.step(id, ADD, call=1), Reply)
    await session.step(id, ADD, call=WINDOW + 1)
    forgotten = await session.step(id, ADD, call=1)
    assert forgotten.code is FailureCode.FORGOTTEN
    assert len(store.steps(1)) == 3


async def test_large_answers_are_forgotten_sooner(monkeypatch):
    monkeypatch.setattr(calls_module, "KEPT_BYTES", 3_000)
    calls = Calls(max_waiting=10, reply_s=None)

    async def work():
        return Reply("e1", Observation("", np.zeros((20, 20, 3), np.uint8)))

    for number in (1, 2, 3):
        await calls.do(number, "look", work)
    codes = [getattr(await calls.do(n, "look", work), "code", None) for n in (1, 2, 3)]
    assert codes == [FailureCode.FORGOTTEN, None, None]


async def test_a_call_that_the_server_cuts_short_is_told_so(store, monkeypatch):
    monkeypatch.setattr("agentgym.session.session.STOP_S", 0.01)
    config, began, _ = slow_world(store)
    server = SessionServer(config)
    session = server.open("test")
    id = (await session.reset()).episode
    calling = [asyncio.create_task(session.step(id, ADD, call=n)) for n in (1, None)]
    await began.wait()
    await server.stop()
    answers = [await call for call in calling]
    assert all(isinstance(answer, Failure) for answer in answers)
    told = [answer.message for answer in answers]
    assert told == ["the session ended during the call", "error:agent: the server was stopped"]
    assert store.episode(1).verdict.status == "error:agent"
    assert config.environments["counter/count-v1"].episodes[0].closed


async def test_an_episode_whose_start_is_cut_short_is_recorded(store, monkeypatch):
    monkeypatch.setattr("agentgym.session.session.STOP_S", 0.01)
    config = config_of(store)
    (environment,) = config.environments.values()
    starting = asyncio.Event()

    async def start(seed):
        starting.set()
        await asyncio.Event().wait()

    environment.start = start
    server = SessionServer(config)
    session = server.open("test")
    resetting = asyncio.create_task(session.reset())
    await starting.wait()
    await server.stop()
    assert (await resetting).code is FailureCode.SESSION_OVER
    row = store.episode(1)
    assert (row.state, row.verdict.status) == ("done", "error:agent")


async def _repeated(call):
    """Make a call until it is not late and return its answer."""
    for _ in range(200):
        answer = await call()
        if getattr(answer, "code", None) is not FailureCode.LATE:
            return answer
    raise AssertionError("the call is late for ever")


async def _patient_reset(session):
    return (await _repeated(lambda: session.reset(call=1))).episode
