"""Sessions in a counting world: what is played, how it is recorded, and how it ends."""

import asyncio
from contextlib import closing
from dataclasses import asdict

import pytest
from counter_sessions import (
    ADD,
    SUBMIT,
    TASK,
    TOLD,
    begun,
    config_of,
    opened,
    recorded,
    slow_world,
    store,
)
from counter_world import CounterEnvironment, CounterProvider, counter_task

from agentgym.errors import PolicyError, RecordError, SandboxDiedError, UnsupportedError
from agentgym.eval.results import build_results
from agentgym.eval.settings import Settings
from agentgym.record.store import RunStore
from agentgym.records import Action, Decision, Effect, TokenUsage
from agentgym.session import session as session_module
from agentgym.session.answers import Failure, FailureCode, Reply, Score
from agentgym.session.server import SessionServer

__all__ = ["store"]

LEFT = PolicyError("the client left")


# --- what is played --------------------------------------------------------------------------


async def test_an_episode_is_recorded(store):
    session = opened(store)
    assert store.episodes() == []
    first = await session.reset()
    assert (first.episode, first.observation.text, first.over) == ("e1", TOLD, False)
    seen = [await session.step("e1", action) for action in (ADD, ADD, SUBMIT)]
    assert [answer.observation.text.split(" (")[0] for answer in seen] == [
        "it is 2", "it is 4", "handed in",
    ]  # fmt: skip
    assert [answer.over for answer in seen] == [False, False, True]
    assert (seen[-1].terminated, seen[-1].score) == (True, Score(1.0, True))
    row = store.episode(1)
    assert (row.plan.task, row.plan.seed, row.plan.agent) == (TASK, 5, "test:someone")
    assert (row.state, row.verdict.score, row.instruction, row.error) == ("done", 1.0, TOLD, "")
    assert [step.action for step in store.steps(1)] == [ADD, ADD, SUBMIT]


async def test_episodes_of_a_session_do_not_see_each_other(store):
    session = opened(store, seed=None)
    one, other = [(await session.reset(seed=seed)).episode for seed in (3, 4)]
    answers = await asyncio.gather(
        *(session.step(id, Action("add", {"n": n})) for id, n in ((one, 1), (other, 2)) * 2)
    )
    assert [answer.observation.data["number"] for answer in answers] == [1, 2, 2, 4]
    assert [(await session.finish(id)).score.score for id in (one, other)] == [0.5, 1.0]
    assert [(row.plan.seed, row.plan.trial) for row in store.episodes()] == [(3, 0), (4, 1)]


async def test_the_caller_names_a_task_if_there_are_several(store):
    worlds = {name: CounterEnvironment(counter_task(), CounterProvider()) for name in ("a", "b")}
    session = opened(store, environments=worlds)
    assert (await session.reset()).code is FailureCode.INVALID
    assert (await session.reset("c")).message == "task 'c': expected one of: a, b"
    assert (await session.reset(["a"])).code is FailureCode.INVALID
    await session.reset("b")
    assert [row.plan.task for row in store.episodes()] == ["b"]


@pytest.mark.parametrize("seed", [None, -1, 2**63, 1.5, True, "7"])
async def test_a_wrong_seed_is_refused(store, seed):
    answer = await opened(store, seed=None).reset(seed=seed)
    assert answer.code is FailureCode.INVALID and "seed" in answer.message
    assert store.episodes() == []


async def test_a_fixed_seed_cannot_be_changed(store):
    session = opened(store, seed=5)
    assert (await session.reset(seed=6)).code is FailureCode.FORBIDDEN
    assert isinstance(await session.reset(seed=5), Reply)


async def test_labels_are_recorded(store):
    session = opened(store)
    await session.reset(options={"group": "g1", "metadata": {"step": 3}})
    plan = store.episode(1).plan
    assert (plan.group, plan.metadata) == ("g1", {"step": 3})
    large = {"metadata": {"text": "x" * 2**16}}
    for options in (
        {"grup": "g"},
        {"metadata": {"n": float("nan")}},
        {"group": 5},
        [1],
        "x",
        large,
    ):
        assert (await session.reset(options=options)).code is FailureCode.INVALID


async def test_a_decision_carries_its_tokens_into_the_record(store):
    session, id = await begun(store)
    await session.step(id, Decision(ADD, thought="two", usage=TokenUsage(7, 3, 1)))
    (step,) = store.steps(1)
    assert (step.decision.thought, step.decision.usage) == ("two", TokenUsage(7, 3, 1))
    wrong = await session.step(id, Decision(ADD, usage="much"))
    assert wrong.code is FailureCode.INVALID and "usage" in wrong.message


@pytest.mark.parametrize(
    "action", [5, None, {"tool": 5}, {"tool": "add", "more": 1}, Action("x" * 500), Action(b"x")]
)
async def test_an_illegal_action_costs_a_step(store, action):
    session, id = await begun(store)
    answer = await session.step(id, action)
    assert answer.observation.effect is Effect.ERROR and not answer.over
    assert len(store.steps(1)) == 1


@pytest.mark.parametrize("value", [float("nan"), "\ud800"], ids=["nan", "surrogate"])
async def test_what_is_no_json_is_refused_and_costs_nothing(store, value):
    session, id = await begun(store)
    answer = await session.step(id, Action("add", {"n": value}))
    assert answer.code is FailureCode.INVALID and "expected JSON" in answer.message
    assert store.steps(1) == []


@pytest.mark.parametrize(
    "size", [{"text": "x" * 2_000_000}, {"many": [0] * 200_000}], ids=["long", "many"]
)
async def test_huge_arguments_cost_a_step_and_are_not_kept(store, size):
    session, id = await begun(store)
    answer = await session.step(id, Action("add", size))
    assert answer.observation.effect is Effect.ERROR
    (step,) = store.steps(1)
    assert len(str(step.action)) < 1_000


async def test_deep_arguments_cost_a_step(store):
    session, id = await begun(store)
    deep = []
    for _ in range(5_000):
        deep = [deep]
    assert (await session.step(id, Action("add", {"n": deep}))).observation.effect is Effect.ERROR


@pytest.mark.parametrize("id", ["e2", "", "e" * 10**6, None, 1, ["e1"]])
async def test_a_wrong_episode_is_told(store, id):
    session, _ = await begun(store)
    for call in (session.fork, session.finish, session.close, lambda i: session.step(i, ADD)):
        answer = await call(id)
        assert answer.code is FailureCode.UNKNOWN_EPISODE and len(answer.message) < 200
    assert store.episode(1).state == "running"


async def test_calls_at_once_are_done_one_after_the_other(store):
    session, id = await begun(store)
    calls = [session.step(id, Action("add", {"n": 1})) for _ in range(6)]
    seen = [answer.observation.text for answer in await asyncio.gather(*calls)]
    assert seen == [f"it is {n} (pid 41)" for n in range(1, 7)]


async def test_a_call_that_is_given_up_before_its_turn_is_not_done(store):
    config, began, go_on = slow_world(store)
    session = SessionServer(config).open("test")
    id = (await session.reset()).episode
    first, second, third = (asyncio.create_task(session.step(id, ADD)) for _ in range(3))
    await began.wait()
    first.cancel()  # it has begun, so it is done all the same
    second.cancel()
    await asyncio.wait({first, second})
    go_on.set()
    assert (await third).observation.text == "it is 4 (pid 41)"


async def test_only_so_many_calls_wait(store):
    session, id = await begun(store, max_waiting=3)
    answers = await asyncio.gather(*(session.step(id, ADD) for _ in range(6)))
    refused = [a for a in answers if isinstance(a, Failure)]
    assert {a.code for a in refused} == {FailureCode.TOO_MANY} and len(refused) == 3
    assert "calls wait for their turn" in refused[0].message
    await session.step(id, SUBMIT)
    assert len(store.steps(1)) == 4


# --- forks ---------------------------------------------------------------------------------


async def test_a_fork_goes_on_beside_its_parent(store):
    session, id = await begun(store)
    await session.step(id, ADD)
    forked = await session.fork(id)
    assert (forked.episode, forked.observation.text) == ("e2", "it is 2 (pid 41)")
    await session.step("e2", ADD)
    grandchild = (await session.fork("e2")).episode
    ends = [(await session.finish(e)).score.score for e in (id, "e2", grandchild)]
    assert ends == [0.5, 1.0, 1.0]
    assert [row.parent for row in store.episodes()] == [None, (1, 1), (2, 2)]
    assert [len(store.steps(row.id)) for row in store.episodes()] == [1, 2, 2]
    assert [state.parent for state in session.state().episodes] == ["", "e1", "e2"]


async def test_a_server_may_forbid_forks(store):
    session, id = await begun(store, may_fork=False)
    assert (await session.fork(id)).code is FailureCode.FORBIDDEN
    assert session.live == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnsupportedError("the surface mcp cannot be forked"), FailureCode.UNSUPPORTED),
        (SandboxDiedError("no second sandbox"), FailureCode.BROKEN),
    ],
)
async def test_a_fork_that_fails_leaves_its_parent(store, error, code):
    session, id = await begun(store, provider={"trouble": {"fork": error}}, max_episodes=2)
    for _ in range(3):
        answer = await session.fork(id)
        assert answer.code is code and str(error) in answer.message
    assert [state.id for state in session.state().episodes] == [id]
    assert (await session.step(id, SUBMIT)).score.score == 0
    assert len(store.episodes()) == 1


async def test_an_episode_that_is_over_cannot_be_forked(store):
    session, id = await begun(store)
    await session.step(id, SUBMIT)
    assert (await session.fork(id)).code is FailureCode.EPISODE_OVER


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
    provider = {"trouble": {moment: SandboxDiedError("it is gone")}}
    session = opened(store, provider=provider)
    answers = [await session.reset()]
    for action in (ADD, SUBMIT):
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


async def test_a_record_that_cannot_be_written_ends_the_episode(store, monkeypatch):
    config = config_of(store)
    session = SessionServer(config).open("test")
    id = (await session.reset()).episode

    def full(*_):
        raise RecordError("no space left")

    monkeypatch.setattr("agentgym.record.recorder.Recorder.step", full)
    answer = await session.step(id, ADD)
    assert (answer.code, answer.message) == (FailureCode.UNSCORED, "error:record: no space left")
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


# --- bounds and tokens -----------------------------------------------------------------------


async def test_a_session_has_only_so_many_live_episodes(store):
    session, id = await begun(store, max_episodes=2)
    second = (await session.fork(id)).episode
    for call in (session.reset(), session.fork(id)):
        refused = await call
        assert refused.code is FailureCode.TOO_MANY and "2 episodes" in refused.message
    await session.finish(second)
    assert isinstance(await session.reset(), Reply)


async def test_calls_at_once_do_not_exceed_the_bounds(store):
    server = SessionServer(config_of(store, max_episodes=3, max_live=4))
    one, other = server.open("test"), server.open("test")
    await asyncio.gather(*(session.reset() for session in (one, other) for _ in range(6)))
    assert (one.live, other.live, len(store.episodes())) == (3, 1, 4)
    await asyncio.gather(*(other.fork("e1") for _ in range(3)))
    await one.finish("e1")
    await asyncio.gather(*(other.fork("e1") for _ in range(3)))
    assert (one.live, other.live, len(store.episodes())) == (2, 2, 5)


async def test_a_server_has_only_so_many_live_episodes(store):
    server = SessionServer(config_of(store, max_live=1))
    one, other = server.open("test"), server.open("test")
    id = (await one.reset()).episode
    assert (await other.reset()).code is FailureCode.TOO_MANY
    assert "1 episodes are being played" in server.open("test").message
    await one.finish(id)
    assert isinstance(await other.reset(), Reply)
    assert [row.plan.trial for row in store.episodes()] == [0, 1]


async def test_a_server_has_only_so_many_sessions(store):
    server = SessionServer(config_of(store, max_sessions=1))
    first = server.open("test")
    assert server.open("test").code is FailureCode.TOO_MANY
    await first.end(LEFT)
    assert server.open("test").token != first.token


async def test_a_caller_comes_back_by_its_token(store):
    server = SessionServer(config_of(store))
    session = server.open("test")
    id = (await session.reset(call=1)).episode
    await session.step(id, ADD, call=2)
    back = server.find(session.token)
    assert back is session
    (state,) = back.state().episodes
    assert (state.id, state.task, state.seed, state.steps, state.over) == (id, TASK, 5, 1, False)
    assert (state.recorded_as, back.state().last_call, back.state().over) == (1, 2, "")
    await back.end(LEFT)
    (state,) = server.find(session.token).state().episodes
    assert (state.steps, state.over, server.find(session.token).over) == (1, True, str(LEFT))


@pytest.mark.parametrize("token", ["", "x" * 43, None, 5, ["a"], b"x"])
async def test_a_wrong_token_finds_no_session(store, token):
    server = SessionServer(config_of(store))
    server.open("test")
    assert server.find(token).code is FailureCode.UNKNOWN_SESSION


async def test_tokens_cannot_be_guessed_from_others(store):
    server = SessionServer(config_of(store))
    tokens = {server.open("test").token for _ in range(100)}
    assert len(tokens) == 100 and min(map(len, tokens)) >= 43
    assert len({token[:6] for token in tokens}) == 100


async def test_old_sessions_and_episodes_are_forgotten(store, monkeypatch):
    monkeypatch.setattr("agentgym.session.server.KEPT_SESSIONS", 2)
    monkeypatch.setattr(session_module, "KEPT_EPISODES", 2)
    server = SessionServer(config_of(store))
    tokens = []
    for _ in range(4):
        session = server.open("test")
        tokens.append(session.token)
        await session.end(LEFT)
    server.open("test")
    found = [not isinstance(server.find(token), Failure) for token in tokens]
    assert found == [False, False, True, True]
    session = server.open("test")
    for _ in range(4):
        await session.finish((await session.reset()).episode)
    await session.reset()
    assert [state.id for state in session.state().episodes] == ["e4", "e5"]


@pytest.mark.parametrize("name", ["\x1b[31mred", "a/../b", "", "x" * 10**6, "claude-code 2"])
async def test_a_name_is_safe_in_the_record(store, name):
    session = SessionServer(config_of(store)).open("mcp", name)
    await session.reset()
    agent = store.episode(1).plan.agent
    assert agent.startswith("mcp:") and len(agent) <= 44 and agent[4:].strip()
    assert all(c.isalnum() or c in "-_. :" for c in agent)
    assert ("client" in agent) is (name == "")
