"""One episode with one agent: recorded, resumed, and every failure at its own boundary."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from counter_world import (
    Counter,
    CounterEnvironment,
    CounterProvider,
    Unreachable,
    counter_task,
)

from agentgym.errors import (
    AgentError,
    PolicyError,
    RecordError,
    SandboxDiedError,
    TaskError,
    VerifierError,
)
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision, Generation, Nudge, TokenTrace, TokenUsage
from agentgym.rollout import policy
from agentgym.rollout.policy import HeldAgent
from agentgym.rollout.run import run_episode

PLAN = EpisodePlan("counter/count-v1", seed=3, trial=0, agent="counter")


@pytest.fixture
def store(tmp_path):
    run = RunStore.create(tmp_path / "run", {}, [PLAN, PLAN])
    yield run
    run.close()


def world(**trouble_and_drift):
    return CounterEnvironment(counter_task(), CounterProvider(**trouble_and_drift))


async def run(store, env, agent, episode_id=1, **options):
    return await run_episode(
        env, agent, seed=PLAN.seed, store=store, episode_id=episode_id, **options
    )


# --- an episode that goes well -------------------------------------------------------------


async def test_an_episode_is_run_to_its_verdict_and_recorded(store):
    agent, heard = Counter(), []
    result = await run(
        store, world(), agent, on_step=lambda s: heard.append((s.index, len(store.steps(1))))
    )
    assert (result.verdict.status, result.verdict.outcome, result.verdict.score) == (
        *("scored", True, 1.0),
    )
    assert (result.steps, result.usage, result.error) == (5, TokenUsage(50, 10, 5), "")
    assert (result.reset_s, result.truncated) == (0.125, False)
    # Each step was in the record by the time it was told.
    assert heard == [(index, index + 1) for index in range(5)]

    row = store.episode(1)
    assert (row.state, row.verdict, row.error, row.log) == ("done", result.verdict, "", "")
    assert (row.sandbox, row.params, row.instruction) == ("counter", {"to": 4}, "Count to 4.")
    assert (row.first.text, row.reset_s, row.duration_s) == (
        *("Count to 4.", 0.125, result.duration_s),
    )
    steps = store.steps(1)
    assert [step.action.tool for step in steps] == ["add", "add", "add", "add", "submit"]
    assert steps[0].decision.thought == "so far so good"
    assert store.episode(2).state == "planned"


async def test_the_agent_is_briefed_sees_the_growing_history_and_is_closed():
    agent = Counter(by=2)
    await run(None, world(), agent, episode_id=None)
    briefing = agent.briefing
    assert (briefing.task, briefing.instruction) == ("counter/count-v1", "Count to 4.")
    assert (briefing.seed, briefing.max_steps, briefing.reference_actions) == (3, 20, ())
    assert agent.histories == [
        [],
        ["it is 2 (pid 41)"],
        ["it is 2 (pid 41)", "it is 4 (pid 41)"],
    ]
    assert agent.closed == 1


async def test_only_a_privileged_agent_gets_the_solution(monkeypatch):
    reference = (Action("add", {"n": 4}), Action("submit"))
    monkeypatch.setattr(policy, "reference", lambda instance: reference)
    agent = Counter()
    agent.privileged = True
    await run(None, world(), agent, episode_id=None)
    assert agent.briefing.reference_actions == reference


async def test_the_bound_on_steps_ends_an_episode(store):
    env = CounterEnvironment(counter_task(), CounterProvider(), max_steps=3)
    result = await run(store, env, Counter())
    assert (result.steps, result.truncated, result.verdict.score) == (3, True, 0.75)
    assert store.episode(1).state == "done"


async def test_what_is_executed_is_what_is_recorded(store):
    class Streaming(Counter):
        async def act(self, observation, tools, history):
            if history:
                return Decision(Action("submit"))
            # Two halves of a character, put together from two pieces of a reply.
            return Decision(Action("say", {"words": ("\ud83d" + "\ude00", 1)}))

    env = world()
    await run(store, env, Streaming())
    executed, recorded = env.episodes[-1].steps[0].action, store.steps(1)[0].action
    assert executed == recorded == Action("say", {"words": ["😀", 1]})


# --- failures, each at its boundary --------------------------------------------------------


class Failing(Counter):
    """Counts to two, then does what it was made for."""

    def __init__(self, failure):
        super().__init__()
        self.failure = failure

    async def act(self, observation, tools, history):
        if len(history) < 2:
            return await super().act(observation, tools, history)
        return await self.failure()


class Panic(BaseException):
    """As an extension module in Rust raises it: a tokenizer that fails, for instance."""


def raising(error):
    async def failure():
        raise error

    return failure


def answering(answer):
    async def failure():
        return answer

    return failure


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (raising(AgentError("the endpoint is down")), "the endpoint is down"),
        (raising(ValueError("oops")), "ValueError: oops"),
        (raising(TimeoutError("of its own")), "TimeoutError: of its own"),
        (raising(RecordError("not yours")), "RecordError: not yours"),
        (raising(SandboxDiedError("not it")), "SandboxDiedError: not it"),
        (raising(ConnectionRefusedError("not really")), "ConnectionRefusedError: not really"),
        (raising(asyncio.CancelledError("by itself")), "CancelledError: by itself"),
        (raising(Panic("in Rust")), "Panic: in Rust"),
        (answering(None), "act() must return a Decision, not NoneType"),
    ],
    ids=[
        "agent error",
        "any error",
        "timeout",
        "record error",
        "sandbox error",
        "claimed",
        "cancelled",
        "panic",
        "nothing",
    ],
)
async def test_an_agent_that_fails_is_judged_as_it_stands(store, failure, message):
    agent = Failing(failure)
    result = await run(store, world(), agent)
    assert (result.verdict.status, result.verdict.score, result.error) == ("scored", 0.5, message)
    row = store.episode(1)
    assert (row.state, row.verdict, row.error) == ("done", result.verdict, message)
    assert (len(store.steps(1)), result.steps, agent.closed) == (2, 2, 1)
    assert f"the policy failed after 2 steps: {message}" in row.log


async def test_the_traceback_of_an_agent_is_in_the_record(store):
    async def failure():
        return {}["nowhere"]

    await run(store, world(), Failing(failure))
    log = store.episode(1).log
    assert 'return {}["nowhere"]' in log and "KeyError: 'nowhere'" in log
    assert "rollout/policy.py" not in log, "the engine's own frames say nothing"


async def test_an_agent_that_cannot_start_is_judged_too(store):
    class NoKey(Counter):
        async def start(self, briefing):
            raise AgentError("OPENAI_API_KEY is not set")

    result = await run(store, world(), NoKey())
    assert (result.verdict.status, result.verdict.score, result.steps) == ("scored", 0.0, 0)
    assert "OPENAI_API_KEY" in store.episode(1).error


async def test_an_agent_that_cannot_be_asked_leaves_an_unscored_episode(store):
    agent = Failing(lambda: Unreachable().act(None, (), ()))
    result = await run(store, world(), agent)
    assert result.verdict.status == "error:agent"
    assert result.error.startswith("ConnectionRefusedError: ")
    row = store.episode(1)
    assert (row.verdict.status, row.error) == ("error:agent", result.error)
    assert (len(store.steps(1)), agent.closed) == (2, 1)
    assert "open_connection" in row.log, "the traceback is kept here too"


async def test_a_broken_check_outweighs_a_failed_policy(store):
    agent = Failing(raising(ValueError("oops")))
    result = await run(store, world(trouble={"check": True}), agent)
    assert (result.verdict.status, result.error) == (
        "error:verifier",
        "checkpoint 'n': ZeroDivisionError in n",
    )
    assert "ValueError: oops" in store.episode(1).log


@pytest.mark.parametrize("count", [-1, 2**60, 2**64])
async def test_a_count_of_tokens_that_cannot_be_recorded_stops_no_run(store, count):
    greedy = answering(Decision(Action("add", {"n": 1}), usage=TokenUsage(prompt=count)))
    result = await run(store, world(), Failing(greedy))
    assert (result.verdict.status, result.verdict.score) == ("scored", 0.5)
    assert "usage.prompt" in result.error and str(count) in result.error


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"usage": "much"}, "usage is a str; expected a TokenUsage"),
        ({"usage": TokenUsage(prompt="7")}, "usage.prompt is a str; expected an int"),
        ({"usage": TokenUsage(cached=True)}, "usage.cached is a bool; expected an int"),
        ({"usage": TokenUsage(10**5000)}, "usage.prompt is a number of more than 30 digits"),
        ({"thought": None}, "thought is a NoneType; expected text"),
        ({"action": {"tool": "add"}}, "action is a dict; expected an Action"),
        ({"nudges": [Nudge("a", "b")]}, "nudges is a list; expected a tuple of Nudge"),
        ({"nudges": ("a",)}, "nudges has a str; expected only Nudge"),
        ({"nudges": (Nudge(1, "b"),)}, "nudges has a Nudge whose fields are not text"),
        ({"generations": [Generation()]}, "generations is a list; expected a tuple of Generation"),
    ],
)
async def test_a_field_of_another_type_is_the_failure_of_the_policy(store, fields, why):
    odd = Decision(**({"action": Action("add", {"n": 1})} | fields))
    result = await run(store, world(), Failing(answering(odd)))
    assert (result.verdict.status, result.verdict.score) == ("scored", 0.5)
    assert result.error.startswith(f"act() returned a Decision that cannot be used: {why}")


async def test_nudges_stay_with_an_action_that_becomes_malformed_and_are_bounded(store):
    nudges = tuple(Nudge(f"{number}" * 30_000, "told") for number in range(30))
    odd = Decision(Action("add", {"n": 2**2000}), nudges=nudges)
    await run(store, world(), Failing(answering(odd)))
    kept = store.steps(1)[2].decision
    assert kept.action.tool == ""
    assert [len(nudge.said) for nudge in kept.nudges] == 16 * [20_000]
    assert kept.nudges[-1].said.startswith("2929")


@pytest.mark.parametrize("kind", [PolicyError, AgentError])
async def test_tokens_of_the_replies_that_ended_an_episode_are_counted(store, kind):
    def refused(*_):
        error = kind("made no usable call")
        error.usage = TokenUsage(300, 30, 3)
        raise error

    result = await run(store, world(), Failing(refused))
    assert result.usage == store.episode(1).usage == TokenUsage(320, 34, 5)
    store.reset_episode(1)
    assert store.episode(1).usage == TokenUsage()


TRACE = TokenTrace([1, 2], [3], [-0.5], [True])


async def test_generations_are_recorded_and_the_last_of_many_are_kept(store):
    class Sampled(Counter):
        async def act(self, observation, tools, history):
            decision = await super().act(observation, tools, history)
            rejected = tuple(Generation(finish_reason=str(n), rejected=True) for n in range(30))
            return replace(decision, generations=(*rejected, Generation(TRACE, "stop", "step-4")))

    await run(store, world(), Sampled())
    for step in store.steps(1):
        *rejected, last = step.decision.generations
        assert last == Generation(TRACE, "stop", "step-4")
        assert [one.finish_reason for one in rejected] == [str(n) for n in range(14, 30)]
    assert store.refused(1) == ()


async def test_arrays_into_which_an_agent_has_written_are_the_failure_of_the_policy(store):
    written = TokenTrace(completion_ids=[5], logprobs=[-0.5])
    object.__setattr__(written, "logprobs", np.array([np.nan], np.float32))

    class Writes(Counter):
        async def act(self, observation, tools, history):
            decision = await super().act(observation, tools, history)
            return replace(decision, generations=(Generation(written),))

    def refused(*_):
        error = PolicyError("no")
        error.generations = (Generation(written),)
        raise error

    for agent in (Writes(), Failing(refused)):
        result = await run(None, world(), agent)
        assert result.verdict.scored and result.refused is None


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ((Generation(TRACE, rejected=True),) * 2, (Generation(TRACE, rejected=True),) * 2),
        (None, None),
        ([Generation(TRACE)], None),
        (("text",), None),
    ],
)
async def test_replies_that_ended_an_episode_are_recorded(store, told, kept):
    def refused(*_):
        error = PolicyError("made no usable call")
        error.usage = TokenUsage(300, 30, 3)
        error.generations = told
        raise error

    await run(store, world(), Failing(refused))
    assert store.refused(1) == kept


@pytest.mark.parametrize("usage", ["much", TokenUsage(-1), TokenUsage(prompt=None)])
async def test_tokens_that_make_no_sense_are_not_counted(store, usage):
    def refused(*_):
        error = PolicyError("no")
        error.usage = usage
        raise error

    result = await run(store, world(), Failing(refused))
    assert result.usage == store.episode(1).usage == TokenUsage(20, 4, 2)


async def test_a_failing_close_changes_nothing(store):
    class Stubborn(Counter):
        async def close(self):
            raise OSError("socket is gone")

    assert (await run(store, world(), Stubborn())).verdict.scored


@pytest.mark.parametrize(
    ("moment", "error", "status", "steps"),
    [
        (2, SandboxDiedError("the supervisor is gone"), "error:sandbox", 2),
        ("reset", TaskError("setup.sh exited with 1"), "error:task", 0),
        ("grade", VerifierError("the rubric is broken"), "error:verifier", 5),
        (1, ZeroDivisionError("a bug of ours"), "error:engine", 1),
    ],
)
async def test_a_failure_of_ours_is_no_zero(store, moment, error, status, steps):
    result = await run(store, world(trouble={moment: error}, trouble_passes=True), Counter())
    assert result.verdict.status == status
    assert not result.verdict.scored
    row = store.episode(1)
    assert (row.state, row.verdict.status, len(store.steps(1))) == ("done", status, steps)
    assert str(error) in row.error


async def test_an_unscored_verdict_says_why(store):
    result = await run(store, world(trouble={"check": True}), Counter())
    assert (result.verdict.status, result.error) == (
        "error:verifier",
        "checkpoint 'n': ZeroDivisionError in n",
    )
    assert store.episode(1).error == "checkpoint 'n': ZeroDivisionError in n"


async def test_what_is_done_is_not_run_again(store):
    await run(store, world(), Counter())
    with pytest.raises(RecordError, match="episode 1 is done"):
        await run(store, world(), Counter())


async def test_what_cannot_be_recorded_stops_the_episode(store):
    env, agent = world(), Counter()

    def take_the_next_place(step):
        again = store.begin(1, params={}, instruction="", sandbox="", reset_s=0.0, first=None)
        again.step(replace(step, index=step.index + 1))

    with pytest.raises(RecordError, match="refused: the next one is step"):
        await run(store, env, agent, on_step=take_the_next_place)
    assert (store.episode(1).state, agent.closed) == ("running", 1)


# --- deadlines -----------------------------------------------------------------------------


async def forever():
    await asyncio.Event().wait()


async def sulking():
    try:
        await forever()
    except asyncio.CancelledError:
        raise ConnectionError("interrupted") from None


@pytest.mark.parametrize("failure", [forever, sulking])
async def test_an_agent_that_hangs_is_graded_as_it_stands(store, failure):
    result = await run(store, world(), Failing(failure), timeout_s=1.0)
    assert (result.verdict.status, result.verdict.score) == ("scored", 0.5)
    assert (result.steps, result.truncated) == (2, True)
    assert store.episode(1).log == "truncated after 2 steps: the agent had 1 s\n"


async def test_an_agent_that_never_waits_meets_the_deadline_too():
    result = await run(None, world(), Counter(by=0), episode_id=None, timeout_s=0.0)
    assert (result.steps, result.truncated, result.verdict.score) == (0, True, 0.0)


async def test_a_start_that_hangs_meets_the_deadline():
    class Slow(Counter):
        async def start(self, briefing):
            await forever()

    result = await run(None, world(), Slow(), episode_id=None, timeout_s=0.1)
    assert (result.verdict.status, result.truncated) == ("scored", True)


async def test_the_time_that_an_agent_is_held_is_not_its_own():
    class Held(Counter, HeldAgent):
        async def ready(self):
            await asyncio.sleep(0.3)

    result = await run(None, world(), Held(), episode_id=None, timeout_s=0.5)
    assert result.steps > 1
    assert not result.truncated and result.verdict.outcome


async def test_a_method_of_that_name_gives_no_agent_more_time():
    class Thinking(Counter):
        async def ready(self):
            raise AssertionError("it was called")

    result = await run(None, world(), Thinking(), episode_id=None, timeout_s=5.0)
    assert result.verdict.outcome


async def test_the_task_bounds_the_agent_where_the_caller_does_not():
    env = CounterEnvironment(counter_task(wall_s=0.1), CounterProvider())
    result = await run(None, env, Failing(forever), episode_id=None)
    assert (result.steps, result.truncated) == (2, True)


# --- resuming ------------------------------------------------------------------------------


async def interrupt(store, after):
    """Run an episode whose agent hangs after so many steps, and cancel it there."""
    reached = asyncio.Event()

    class Interrupted(Counter):
        async def act(self, observation, tools, history):
            if len(history) == after:
                reached.set()
                await forever()
            return await super().act(observation, tools, history)

    agent = Interrupted()
    task = asyncio.create_task(run(store, world(), agent))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert agent.closed == 1


async def test_a_cancelled_episode_resumes_where_it_was(store):
    await interrupt(store, after=2)
    assert (store.episode(1).state, len(store.steps(1))) == ("running", 2)
    before = store.steps(1)

    agent, heard = Counter(), []
    result = await run(
        store, world(process_id=977), agent, on_step=lambda step: heard.append(step.index)
    )
    straight = await run(store, world(), Counter(), episode_id=2)
    assert result.verdict == straight.verdict
    assert (result.steps, result.usage) == (straight.steps, straight.usage)
    # Only what came after the interruption was asked and told; the history was whole.
    assert heard == [2, 3, 4]
    assert agent.histories[0] == ["it is 1 (pid 977)", "it is 2 (pid 977)"]
    steps = store.steps(1)
    assert [step.index for step in steps] == [0, 1, 2, 3, 4]
    assert [s.observation.text for s in steps[:2]] == [s.observation.text for s in before]
    assert store.episode(1).log == ""


async def test_a_resume_that_diverges_is_noted_and_goes_on(store):
    await interrupt(store, after=3)
    result = await run(store, world(drift={1: 1}), Counter())
    assert (result.verdict.score, result.steps) == (1.0, 4)
    log = store.episode(1).log
    assert log.startswith("resume diverged at step 1: text was 'it is 2 ")
    assert "is now 'it is 3 " in log


async def test_a_resume_that_is_over_early_ends_there(store):
    await interrupt(store, after=3)
    env = CounterEnvironment(counter_task(), CounterProvider(), max_steps=2)
    result = await run(store, env, Counter())
    assert (result.verdict.score, result.truncated, result.steps) == (0.5, True, 2)
    assert store.episode(1).log == "resume diverged at step 1: end was goes on, is now over\n"


async def test_a_changed_task_is_a_divergence(store):
    await interrupt(store, after=1)
    env = CounterEnvironment(counter_task(params={"to": 5}), CounterProvider())
    await run(store, env, Counter())
    assert """resume diverged at params: was '{"to":4}', is now '{"to":5}'""" in (
        store.episode(1).log
    )


async def test_an_episode_that_was_over_but_not_judged_is_only_judged(store):
    await run(store, world(), Counter())
    steps = store.steps(1)
    recorder = store.begin(2, params={"to": 4}, instruction="", sandbox="counter", reset_s=0.0,
                           first=store.episode(1).first)  # fmt: skip
    for step in steps:
        recorder.step(step)
    agent = Counter()
    result = await run(store, world(), agent, episode_id=2)
    assert result.verdict == store.episode(1).verdict
    assert (agent.briefing, agent.histories) == (None, [])
    assert len(store.steps(2)) == 5


async def test_a_sandbox_that_dies_while_resuming_keeps_the_steps(store):
    await interrupt(store, after=3)
    result = await run(store, world(trouble={1: SandboxDiedError("gone")}), Counter())
    assert result.verdict.status == "error:sandbox"
    row = store.episode(1)
    assert (row.state, row.steps, row.first.text) == ("done", 3, "Count to 4.")


async def test_an_action_that_no_record_can_hold_is_an_illegal_one(store):
    nested = [1]
    for _ in range(2_000):
        nested = [nested]
    for argument in (b"1", nested, "x" * 2**21, 10**5_000):
        agent = Failing(answering(Decision(Action("add", {"n": argument}), reply=nested)))
        short = CounterEnvironment(counter_task(max_steps=2), CounterProvider())
        result = await run(None, short, agent)
        assert (result.verdict.status, result.steps, result.error) == ("scored", 2, "")


async def test_a_cancellation_at_the_end_of_an_agent_s_closing_is_not_lost():
    class Closing(Counter):
        async def close(self):
            # It comes when this has ended and its caller has not gone on yet.
            asyncio.get_running_loop().call_soon(episode.cancel)

    async def play():
        async with policy.releasing(Closing()):
            pass
        await asyncio.sleep(0.01)

    episode = asyncio.create_task(play())
    with pytest.raises(asyncio.CancelledError):
        await episode
