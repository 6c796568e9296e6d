"""Episodes that break have no score, unless their actions break other episodes, too."""

import asyncio
from contextlib import closing

import pytest
from shop_task import write_shop

import agentgym
from agentgym.env.episode import Episode
from agentgym.errors import SandboxDiedError, SandboxError, ServiceError, SurfaceError, TaskError
from agentgym.record.store import RunStore
from agentgym.records import Action, Decision, TokenUsage
from agentgym.rollout.regrade import Fate, regrade_episode
from agentgym.rollout.replay import Agreement, verify_episode
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.surfaces.service_tools import ServicesKind

LOOK, BREAK = Action("orders_get", {"order": 5}), Action("orders_get", {"order": 6})
SUBMIT = Action("submit", {})
BEGIN, STEP, FINISH = Episode._begin, Episode.step, Episode._finish
TOKENS = TokenUsage(10, 3)

ERRORS = [
    SandboxError("the sandbox does not answer"),
    SandboxDiedError("the sandbox died"),
    SurfaceError("the tool is gone"),
    ServiceError("internal", "the service is gone"),
    ZeroDivisionError("a bug"),
]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    write_shop(tmp_path)
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    monkeypatch.delenv("AGENTGYM_USER", raising=False)


class Breaking:
    """Makes these calls, one after the other."""

    actions = ()
    asked = 0

    async def start(self, briefing):
        pass

    async def act(self, observation, tools, history):
        Breaking.asked += 1
        return Decision(self.actions[len(history)], usage=TOKENS)

    async def close(self):
        pass


@pytest.fixture
def evaluated(shop, tmp_path, monkeypatch):
    """Evaluates these calls, where some break the episode with an error so many times."""

    def evaluate(
        *actions,
        error,
        times,
        at=BREAK,
        untouched=True,
        then=("", 0),
        only_in=lambda _: True,
        max_steps=None,
        timeout_s=None,
        usual=STEP,
    ):
        left, later = [times], list(then)

        def happen(where):
            # Once the episode is broken, the machine fails there.
            if where == later[0] and later[1] and not left[0]:
                later[1] -= 1
                raise error

        async def begin(self):
            happen("start")
            await BEGIN(self)

        async def step(self, decision, **options):
            action = decision.action if isinstance(decision, Decision) else decision
            happen(action)
            if action == at != SUBMIT and left[0] and only_in(self):
                left[0] -= 1
                raise error
            return await usual(self, decision, **options)

        async def finish(self):
            if not untouched or (at == SUBMIT and self.steps and left[0]):
                left[0] -= 1
                self.over = True
                raise error
            return await FINISH(self)

        monkeypatch.setattr(Episode, "_begin", begin)
        monkeypatch.setattr(Episode, "step", step)
        monkeypatch.setattr(Episode, "_finish", finish)
        monkeypatch.setattr(Breaking, "actions", actions)
        monkeypatch.setattr(Breaking, "asked", 0)
        out = tmp_path / "run"
        options = {"out": out, "max_steps": max_steps, "timeout_s": timeout_s}
        results = agentgym.evaluate("demo/refund-v1", Breaking, **options)
        (episode,) = results.episodes
        with closing(RunStore.open(out)) as run:
            (row,) = run.episodes()
            assert row.state == "done"
            actions = [step.decision.action for step in run.steps(row.id)]
        return episode, row, actions

    return evaluate


@pytest.mark.parametrize("error", ERRORS, ids=[type(error).__name__ for error in ERRORS])
@pytest.mark.parametrize("first", [(), (LOOK, LOOK)], ids=["at once", "later"])
def test_actions_that_break_it_again_have_failed(evaluated, error, first):
    episode, row, recorded = evaluated(*first, BREAK, SUBMIT, error=error, times=5)
    assert (row.verdict.status, row.verdict.score, row.verdict.outcome) == ("scored", 0.0, False)
    assert episode.score == 0.0
    assert "without them it is judged" in row.error and "executed again" in row.log
    assert (recorded, Breaking.asked) == (list(first), len(first) + 1)


def test_a_submission_that_breaks_its_judging_again_has_failed(evaluated):
    _, row, recorded = evaluated(LOOK, SUBMIT, at=SUBMIT, error=ERRORS[0], times=5)
    assert (row.verdict.status, row.verdict.score) == ("scored", 0.0)
    assert recorded == [LOOK, SUBMIT]


def test_a_policy_that_fails_in_what_it_cannot_be_judged_in_has_failed(evaluated):
    # The third call is none: the agent raises, and what it has left is judged.
    _, row, recorded = evaluated(LOOK, LOOK, at=SUBMIT, error=ERRORS[0], times=5)
    assert (row.verdict.status, row.verdict.score) == ("scored", 0.0)
    assert "without them it is judged" in row.error
    assert recorded == [LOOK, LOOK]


def test_judging_that_broke_once_is_repeated_without_the_policy(evaluated):
    episode, row, recorded = evaluated(LOOK, SUBMIT, at=SUBMIT, error=ERRORS[0], times=1)
    assert (row.verdict.status, row.error, episode.score) == ("scored", "", 0.0)
    assert ERRORS[0].args[0] in row.log
    assert (recorded, Breaking.asked) == ([LOOK, SUBMIT], 2)


@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_what_broke_by_chance_goes_on_from_its_record(evaluated, times):
    episode, row, recorded = evaluated(LOOK, BREAK, SUBMIT, error=ERRORS[0], times=times)
    assert (row.verdict.status, row.error, episode.score) == ("scored", "", 0.0)
    assert "played again" in row.log and ERRORS[0].args[0] in row.log
    # The policy is asked for the action that broke it and for those after it, not for the first.
    assert (recorded, Breaking.asked) == ([LOOK, BREAK, SUBMIT], 2 + 2)


def test_what_breaks_again_by_chance_when_it_goes_on_has_no_score(evaluated, monkeypatch):
    broken = []

    def begun(self):
        broken.append(len(broken) % 2 == 0)
        return broken[-1]

    episode, row, _ = evaluated(LOOK, BREAK, error=ERRORS[0], times=99, only_in=begun)
    assert (row.verdict.status, episode.score) == ("error:sandbox", None)
    assert Breaking.asked == 2 + 1


@pytest.mark.parametrize("at", ["start", LOOK])
def test_a_machine_that_fails_at_other_places_is_not_the_actions(evaluated, at):
    episode, row, _ = evaluated(LOOK, BREAK, SUBMIT, error=ERRORS[0], times=1, then=(at, 99))
    assert (row.verdict.status, episode.score) == ("error:sandbox", None)


def test_an_action_that_another_episode_takes_and_judges_is_recorded(evaluated):
    episode, row, recorded = evaluated(LOOK, BREAK, error=ERRORS[0], times=1, max_steps=2)
    assert (row.verdict.status, row.error, episode.score) == ("scored", "", 0.0)
    assert (recorded, episode.steps, Breaking.asked) == ([LOOK, BREAK], 2, 2)


def test_the_tokens_of_the_action_that_breaks_it_count(evaluated):
    episode, row, recorded = evaluated(LOOK, BREAK, SUBMIT, error=ERRORS[0], times=5)
    assert recorded == [LOOK]
    assert episode.usage == row.usage == TOKENS + TOKENS


def test_what_breaks_without_an_action_has_no_score(evaluated):
    episode, row, _ = evaluated(LOOK, BREAK, error=ERRORS[0], times=3, untouched=False)
    assert (row.verdict.status, episode.score) == ("error:sandbox", None)


def test_what_reaches_the_world_is_not_executed_again(evaluated, monkeypatch):
    monkeypatch.setattr(ServicesKind, "reaches_out", True, raising=False)
    _, row, _ = evaluated(LOOK, BREAK, error=ERRORS[0], times=9)
    assert (row.verdict.status, row.log) == ("error:sandbox", "")


def test_a_broken_task_is_told_otherwise(evaluated):
    # Where the script of an event fails, it is tried in an untouched sandbox.
    _, row, _ = evaluated(LOOK, BREAK, error=TaskError("the script fails"), times=3)
    assert row.verdict.status == "error:task"


def test_an_agent_cannot_act_for_so_long_that_its_actions_are_not_executed_again(
    evaluated, monkeypatch
):
    async def slow(self, decision, **options):
        await asyncio.sleep(2)
        return await STEP(self, decision, **options)

    monkeypatch.setattr("agentgym.rollout.run.REPETITION_S", 0)
    _, row, _ = evaluated(LOOK, BREAK, error=ERRORS[0], times=5, timeout_s=4, usual=slow)
    assert (row.verdict.status, row.verdict.score) == ("scored", 0.0)


@pytest.fixture
def executed_again(evaluated, tmp_path, monkeypatch):
    """Verifies and judges again what was evaluated, where nothing breaks any more."""

    def executed(**kinds):
        async def both():
            provider = BubblewrapProvider()
            with closing(RunStore.open(tmp_path / "run", readonly=False)) as store:
                verified = await verify_episode(store, 1, provider)
                return verified, await regrade_episode(store, store.episode(1), provider, **kinds)

        for name, usual in (("_begin", BEGIN), ("step", STEP), ("_finish", FINISH)):
            monkeypatch.setattr(Episode, name, usual)
        return asyncio.run(both())

    return executed


@pytest.mark.parametrize("rerun", [False, True])
def test_a_broken_episode_agrees_with_its_record_and_keeps_its_verdict(
    evaluated, executed_again, rerun
):
    # Before the action that breaks it, its state may be worth more.
    evaluated(LOOK, BREAK, error=ERRORS[0], times=5)
    verified, regraded = executed_again(force=True, rerun=rerun)
    assert verified.agreement is Agreement.SAME
    assert (regraded.fate, regraded.reason) == (
        Fate.KEPT,
        "its actions broke it: there is no end to judge",
    )


def test_an_end_that_another_episode_judged_is_kept_and_can_be_judged_again(
    evaluated, executed_again
):
    _, row, _ = evaluated(LOOK, SUBMIT, at=SUBMIT, error=ERRORS[0], times=1)
    assert "in submit {}" in row.log
    verified, regraded = executed_again(force=True)
    assert verified.agreement is Agreement.SAME
    assert (regraded.fate, regraded.new.score) == (Fate.REPLACED, 0.0)
