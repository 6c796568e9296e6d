"""Forty recorded episodes full of times and process ids verify, branch and are judged again."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from agentgym.agents.oracle import OracleAgent
from agentgym.catalogue import match_tasks
from agentgym.env.environment import Environment
from agentgym.eval.requirements import missing_commands
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Briefing
from agentgym.rollout.branch import branch_episodes
from agentgym.rollout.regrade import Fate, regrade_episode
from agentgym.rollout.replay import Agreement, verify_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.load import find_task

PROBLEMS = BubblewrapProvider().problems()
pytestmark = [
    pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox here: {PROBLEMS}"),
    pytest.mark.full,
]

LATER_S = 60.0
BEFORE = "date; ls -la / /tmp /proc/self; echo shell $$"
LOOKS = (
    "ps -ef; echo $$",
    "ls -la --time-style=full-iso; date -u; stat . | tail -4",
    "ps aux | head -20; uptime; cat /proc/uptime; date +%s.%N",
    "ls -lai; (sleep 30 & echo $!); jobs; echo $PPID $$",
    "time ls -la /tmp; date -R; mktemp -d; id; cat /proc/self/stat",
)
EPISODES = [(task, 0) for task in match_tasks("terminal")]
EPISODES += [(task, 1) for task, _ in EPISODES[:: len(EPISODES) // 10][:10]]


class OracleThatLooks(OracleAgent):
    """Looks at clocks and process tables before and after each reference action."""

    def __init__(self, turn: int) -> None:
        super().__init__()
        self._looks = [look(LOOKS[(turn + n) % len(LOOKS)]) for n in range(2)]

    async def start(self, briefing: Briefing) -> None:
        await super().start(briefing)
        first, second = self._looks
        actions = self._reference_actions
        self._reference_actions = (look(BEFORE), first, *actions, second, look(BEFORE))


def look(command: str) -> Action:
    return Action("bash", {"command": command})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def played(tmp_path_factory):
    """The run with the forty episodes, a minute after the last of them."""
    plans = [EpisodePlan(task, seed=seed, trial=0, agent="oracle") for task, seed in EPISODES]
    store = RunStore.create(tmp_path_factory.mktemp("forty") / "run", {}, plans)
    provider = BubblewrapProvider()
    for turn, plan in enumerate(plans):
        if missing_commands([find_task(plan.task)]):
            continue
        environment = Environment(find_task(plan.task), provider)
        try:
            agent = OracleThatLooks(turn)
            await run_episode(environment, agent, seed=plan.seed, store=store, episode_id=turn + 1)
        finally:
            await environment.close()
    await asyncio.sleep(LATER_S)
    yield store, provider
    await provider.close()
    store.close()


def test_there_are_forty():
    assert len(EPISODES) == 40


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("number", range(len(EPISODES)), ids=lambda n: f"{EPISODES[n][0]}-{n}")
async def test_it_verifies_branches_and_is_judged_again(played, number):
    store, provider = played
    episode = store.episode(number + 1)
    if missing := missing_commands([find_task(episode.plan.task)]):
        pytest.skip(f"{missing[0].command} is not installed; run: {missing[0].install}")
    assert episode.verdict.score == 1.0
    found = await verify_episode(store, episode.id, provider)
    assert found.agreement in (Agreement.SAME, Agreement.TEXT_DIFFERS), found.divergence
    branch = store.episode((await branch_episodes(store, episode.id, 2, ["oracle"], provider))[0])
    assert branch.verdict.score == 1.0
    done = await regrade_episode(store, episode, provider, force=True)
    assert done.fate is not Fate.KEPT and done.new.score == 1.0
