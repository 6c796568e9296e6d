"""Sessions in a counting world: how episodes and sessions end."""

import asyncio
from contextlib import closing
from dataclasses import asdict

import pytest
from counter_sessions import (
    ADD,
    SUBMIT,
    TASK,
    begun,
    config_of,
    opened,
    recorded,
    slow_world,
    store,
)

from agentgym.errors import PolicyError, RecordError, SandboxDiedError
from agentgym.eval.results import build_results
from agentgym.eval.settings import Settings
from agentgym.record.store import RunStore
from agentgym.records import Action, Verdict
from agentgym.rollout import repetition
from agentgym.session import session as session_module
from agentgym.session.answers import Failure, FailureCode, Reply, Score
from agentgym.session.server import SessionServer

__all__ = ["store"]

LEFT = PolicyError("the client left")


# --- the end of an episode -----------------------------------------------------------------


async def test_nothing_goes_on_after_the_end(store):
    session, id = await begun(store)
    await session.step(id, SUBMIT)
    for call in (session.step(id, ADD), session.finish(id)):
        late = await call
        assert (late.code, late.over, late.score.score) == (FailureCode.EPISODE_OVER, True, 0.0)
    await session.end(LEFT)
    assert len(store.steps(1)) == 1 and store.episode(1).error == ""


async def test_steps_run_out(store):
    session, id = await begun(store, max_steps=2)
    assert not (await session.step(id, ADD)).over
    last = await session.step(id, ADD)
    assert (last.truncated, last.terminated, last.score.score) == (True, False, 1.0)
    assert last.observation.text.startswith("it is 4")


async def test_a_call_after_the_last_is_told_so(store):
    session, id = await begun(store)
    done, late = await asyncio.gather(session.step(id, SUBMIT), session.step(id, ADD))
    assert done.observation.text == "handed in" and late.code is FailureCode.EPISODE_OVER
    assert len(store.steps(1)) == 1


async def test_finish_judges_the_present_state(store):
    session, id = await begun(store)
    await session.step(id, ADD)
    end = await session.finish(id)
    assert (end.over, end.score, end.observation.text) == (
        True,
        Score(0.5, False),
        "it is 2 (pid 41)",
    )
    row = store.episode(1)
    assert (row.state, row.verdict.score, row.error) == ("done", 0.5, "")


async def test_a_closed_episode_is_judged_and_forgotten(store):
    session, id = await begun(store)
    await session.step(id, ADD)
    end = await session.close(id)
    assert (end.over, end.score) == (True, None)
    row = store.episode(1)
    assert (row.verdict.status, row.verdict.score) == ("scored", 0.5)
    assert row.error == "the caller closed the episode before its end"
    assert (await session.step(id, ADD)).code is FailureCode.UNKNOWN_EPISODE
    assert (await session.close(id)).code is FailureCode.UNKNOWN_EPISODE


async def test_scores_are_told_only_if_the_server_tells_them(store):
    session, id = await begun(store, tell=False)
    end = await session.step(id, SUBMIT)
    late = await session.step(id, ADD)
    assert end.over and late.over and (end.score, late.score) == (None, None)
    assert store.episode(1).verdict.score == 0.0


@pytest.mark.parametrize("moment", ["reset", 1, "grade"])
async def test_what_breaks_is_told_and_recorded(store, moment):
    provider = {"trouble": {moment: SandboxDiedError("it is gone")}, "trouble_passes": moment == 1}
    session = opened(store, provider=provider)
    answers = [await session.reset()]
    for action in (ADD, ADD, SUBMIT):
        answers.append(await session.step("e1", action))
    broken = [answer for answer in answers if isinstance(answer, Failure)]
    assert {answer.code for answer in broken} == {FailureCode.UNSCORED}
    assert broken[0].message == "error:sandbox: it is gone"
    row = store.episode(1)
    assert (row.state, row.verdict.status, row.error) == ("done", "error:sandbox", "it is gone")
    assert session.live == 0


async def test_what_a_broken_check_says_is_not_for_the_caller(store):
    session, id = await begun(store, provider={"trouble": {"check": True}})
    answer = await session.step(id, SUBMIT)
    assert (answer.over, answer.message) == (True, "error:verifier")
    assert "ZeroDivisionError" in store.episode(1).error


@pytest.mark.parametrize(
    ("where", "trouble", "told"),
    [
        ("recorder.Recorder.pack", RecordError("no space left"), "error:record: no space left"),
        ("store.RunStore.begin", OSError(28, "No space left"), "error:engine: OSError: [Errno 28]"),
    ],
)
async def test_a_record_that_cannot_be_written_ends_the_episode(
    store, monkeypatch, where, trouble, told
):
    config = config_of(store)
    session = SessionServer(config).open("test")

    def full(*_, **__):
        raise trouble

    monkeypatch.setattr(f"agentgym.record.{where}", full)
    first = await session.reset()
    answer = await session.step(first.episode, ADD)
    assert answer.code is FailureCode.UNSCORED and answer.message.startswith(told)
    (environment,) = config.environments.values()
    assert environment.episodes[0].closed and session.live == 0


# --- the end of a session ------------------------------------------------------------------


@pytest.mark.parametrize("stopped", [False, True])
async def test_a_pending_call_is_done_before_its_caller_leaves(store, monkeypatch, stopped):
    monkeypatch.setattr(session_module, "STOP_S", 0.01)
    config, began, go_on = slow_world(store)
    server = SessionServer(config)
    session = server.open("test")
    id = (await session.reset()).episode
    calling = asyncio.create_task(session.step(id, ADD))
    await began.wait()
    calling.cancel()
    leaving = asyncio.create_task(server.stop() if stopped else session.end(LEFT))
    await asyncio.wait({leaving}, timeout=0.2)
    assert leaving.done() is stopped, "only the end of the server does not wait for the call"
    go_on.set()
    await leaving
    row = store.episode(1)
    assert (row.verdict.status, row.verdict.score) == (
        ("error:agent", 0.0) if stopped else ("scored", 0.5)
    )


async def test_a_caller_that_leaves_is_judged_as_it_stands(store):
    session, id = await begun(store)
    await session.step(id, ADD)
    await session.leave("the client left")
    row = store.episode(1)
    assert (row.state, row.verdict.status, row.error) == ("done", "scored", "the client left")
    assert row.verdict.score == 0.5 and row.log.startswith("the policy failed after 1 steps")
    assert (await session.step(id, ADD)).code is FailureCode.EPISODE_OVER
    assert (await session.reset()).code is FailureCode.SESSION_OVER


async def test_episodes_that_the_server_ends_have_no_score(store):
    server = SessionServer(config_of(store))
    sessions = [server.open("test") for _ in range(2)]
    for session in sessions:
        await session.step((await session.reset()).episode, ADD)
    await server.stop()
    rows = store.episodes()
    assert [(row.verdict.status, row.error) for row in rows] == [
        ("error:agent", "the server was stopped")
    ] * 2
    assert server.open("test").code is FailureCode.SESSION_OVER
    answer = await sessions[0].step("e1", ADD)
    assert answer.message == "error:agent: the server was stopped"


async def test_a_caller_that_leaves_during_a_reset_leaves_no_open_episode(store):
    session = opened(store)
    resetting = [asyncio.create_task(session.reset()) for _ in range(3)]
    await asyncio.sleep(0)  # they have begun
    await session.leave()
    answers = await asyncio.gather(*resetting)
    assert session.live == 0
    assert {row.state for row in store.episodes()} <= {"done"}
    assert {row.verdict.status for row in store.episodes()} <= {"scored"}
    late = [a for a in answers if isinstance(a, Failure)]
    assert len(late) + len(store.episodes()) == 3


async def test_an_episode_that_cannot_be_planned_is_told(store, monkeypatch):
    session = opened(store)

    def full(*_, **__):
        raise RecordError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(store, "add", full)
        answer = await session.reset()
    assert (answer.code, answer.message) == (FailureCode.UNSCORED, "error:record: no space left")
    assert session.live == 0 and isinstance(await session.reset(), Reply)
    assert [row.plan.trial for row in store.episodes()] == [0]


async def test_a_run_with_forks_can_be_served_again(tmp_path):
    settings = asdict(Settings(tasks=(TASK,), agents=()))
    with closing(RunStore.create(tmp_path / "run", settings, [])) as run:
        for name in ("a", "b", "a"):
            session = SessionServer(config_of(run)).open("test", name)
            for _ in range(2):
                await session.fork((await session.reset()).episode)
            await session.leave()
        rows = run.episodes()
        trials = [(row.plan.agent, row.plan.trial) for row in rows if row.parent is None]
        results = build_results(run)
    assert trials == [
        (f"test:{name}", n) for name, n in zip("aabbaa", [0, 1, 0, 1, 2, 3], strict=True)
    ]
    (task,) = results["tasks"]
    assert len(task["episodes"]) == len(task["branches"]) == 6
    assert set(results["summary"]) == {"test:a", "test:b"}


async def test_a_session_without_calls_has_no_episode(store):
    await opened(store).end(LEFT)
    assert store.episodes() == []


async def test_an_idle_session_is_judged_as_it_stands(store):
    session, id = await begun(store, idle_s=0.4)
    await session.step(id, ADD)
    row = await recorded(store)
    assert (row.verdict.status, row.verdict.score, row.error) == ("scored", 0.5, "")
    assert row.log == "truncated after 1 steps: nothing was called for 0.4 s\n"
    while not session.over:
        await asyncio.sleep(0.02)
    assert session.over == "nothing was called for 0.4 s"
    assert (await session.step(id, ADD)).score.score == 0.5


async def test_an_episode_that_is_left_alone_is_judged_though_its_session_goes_on(store):
    session = opened(store, idle_s=0.4)
    bad, good = [(await session.reset()).episode for _ in "ab"]
    for _ in range(200):
        await session.step(good, Action("add", {"n": 0}))
        await asyncio.sleep(0.02)
        if store.episode(1).state == "done" or session.live < 2:
            break
    row = await recorded(store, 1)
    assert (row.verdict.status, row.verdict.score) == ("scored", 0.0)
    assert row.log == "truncated after 0 steps: nothing was called for 0.4 s\n"
    assert (await session.step(bad, ADD)).code is FailureCode.EPISODE_OVER
    assert isinstance(await session.step(good, ADD), Reply) and session.over == ""


async def test_a_call_that_takes_long_is_not_idleness(store):
    config, began, go_on = slow_world(store, idle_s=0.2)
    session = SessionServer(config).open("test")
    id = (await session.reset()).episode
    calling = asyncio.create_task(session.step(id, ADD))
    await began.wait()
    calling.cancel()  # the caller vanishes, and its call goes on
    await asyncio.sleep(0.3)
    assert session.over == "" and store.episode(1).state == "running"
    go_on.set()
    row = await recorded(store)
    assert (row.steps, row.verdict.score) == (1, 0.5)


async def test_wall_time_bounds_an_episode(store):
    session, id = await begun(store, timeout_s=0.2)
    row = await recorded(store)
    assert (row.verdict.status, row.error) == ("scored", "")
    assert row.log == "truncated after 0 steps: the agent had 0.2 s\n"
    assert session.over == "" and isinstance(await session.reset(), Reply)


async def test_calls_that_wait_are_not_done_after_the_wall_time(store):
    config, began, go_on = slow_world(store, timeout_s=0.4)
    session = SessionServer(config).open("test")
    id = (await session.reset()).episode
    first, late = (asyncio.create_task(session.step(id, ADD)) for _ in range(2))
    await began.wait()
    await asyncio.sleep(0.5)
    go_on.set()
    assert (await first).observation.text == "it is 2 (pid 41)"
    assert (await late).code is FailureCode.EPISODE_OVER
    assert store.episode(1).verdict.score == 0.5


async def test_a_fork_has_the_time_that_its_parent_has_left(store):
    session, id = await begun(store, timeout_s=0.4)
    await asyncio.sleep(0.3)
    child = (await session.fork(id)).episode
    await asyncio.sleep(0.2)
    assert (await session.step(child, ADD)).code is FailureCode.EPISODE_OVER


async def test_a_session_ends_at_its_deadline(store):
    session, id = await begun(store, session_s=0.2)
    row = await recorded(store)
    assert row.log == "truncated after 0 steps: the session had 0.2 s\n"
    assert (await session.reset()).code is FailureCode.SESSION_OVER
    assert (await session.step(id, ADD)).code is FailureCode.EPISODE_OVER


@pytest.mark.parametrize("passes", [False, True])
async def test_what_a_caller_s_actions_break_each_time_has_failed(store, monkeypatch, passes):
    zero = Verdict("scored", outcome=False, score=0.0)
    monkeypatch.setattr(repetition, "failed_verdict", lambda instance, why: zero)
    gone = {"trouble": {1: SandboxDiedError("gone")}, "trouble_passes": passes}
    session, id = await begun(store, provider=gone)
    await session.step(id, ADD)
    end = await session.step(id, ADD)
    row = store.episode(1)
    if passes:
        assert (end.code, end.status) == (FailureCode.UNSCORED, "error:sandbox")
    else:
        assert (end.code, end.score.score) == (FailureCode.EPISODE_OVER, 0.0)
        assert "executed again" in row.log
    assert row.verdict.status == ("error:sandbox" if passes else "scored")
