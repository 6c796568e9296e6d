"""Sessions in a counting world: what is played, forked and recorded."""

import asyncio

import pytest
from counter_sessions import ADD, SUBMIT, TASK, TOLD, begun, opened, slow_world, store
from counter_world import CounterEnvironment, CounterProvider, counter_task

from agentgym.errors import SandboxDiedError, UnsupportedError
from agentgym.records import Action, Decision, Effect, TokenUsage
from agentgym.session.answers import Failure, FailureCode, Reply, Score
from agentgym.session.server import SessionServer

__all__ = ["store"]


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


async def test_forks_of_forks_stay_readable(store, monkeypatch):
    monkeypatch.setattr("agentgym.record.lineage._MOST_PARENTS", 3)
    session, id = await begun(store)
    for _ in range(3):
        id = (await session.fork(id)).episode
    answer = await session.fork(id)
    assert answer.code is FailureCode.UNSUPPORTED and "forks of forks" in answer.message
    assert (await session.step(id, SUBMIT)).score.score == 0
    await session.leave()
    assert [len(store.steps(row.id)) for row in store.episodes()] == [0, 0, 0, 1]


async def test_an_episode_that_is_over_cannot_be_forked(store):
    session, id = await begun(store)
    await session.step(id, SUBMIT)
    assert (await session.fork(id)).code is FailureCode.EPISODE_OVER
