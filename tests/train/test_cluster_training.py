"""Training on workers that may die equals training in one process; here without a cluster."""

from __future__ import annotations

import asyncio
import io
from contextlib import closing

import pytest
import torch
from near_workers import near_player
from offline_runs import CONFIG, REFUND, write_refund
from rich.console import Console

from agentgym.cluster.workers import LOSSES
from agentgym.record.store import RunStore
from agentgym.train.branch_points import BranchAt, TreeConfig
from agentgym.train.config import load_config
from agentgym.train.engine import Surplus
from agentgym.train.loading import load_policy
from agentgym.train.players import LocalPlayer, open_environments
from agentgym.train.progress import TrainingProgress
from agentgym.train.rollouts import Assignment
from agentgym.train.trainer import Trainer, open_trainer
from agentgym.train.training_run import TrainingRun

TIMES = {"play_s", "learn_s", "tokens_per_s", "utilisation"}
TASK = {**REFUND, "task.toml": REFUND["task.toml"].replace("max_steps = 4", "max_steps = 1")}


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    return load_config(write_refund(tmp_path, TASK, CONFIG))


def rollouts_of(config, **changes):
    return config.model_copy(update={"rollouts": config.rollouts.model_copy(update=changes)})


def progress_of(config):
    return TrainingProgress(Console(file=io.StringIO()), config.iterations)


async def train_near(run, dying=()):
    """Train on workers; return the history and the fleet."""
    with progress_of(run.config) as progress:
        async with near_player(run, dying) as (player, fleet, loaded, tasks):
            trainer = Trainer(run, progress, loaded, player, tasks)
            await trainer.begin()
            try:
                return await trainer.train(), fleet
            finally:
                await trainer.close()


async def train_here(run):
    with progress_of(run.config) as progress:
        async with open_trainer(run, progress) as trainer:
            return await trainer.train()


def untimed(history):
    return [{name: each[name] for name in each if name not in TIMES} for each in history]


def weights(folder):
    return torch.load(folder / "checkpoint.pt", weights_only=True)["model"]


# A third loss would make an attempt missing, also one that only shares the worker.
@pytest.mark.sampled(2)
@pytest.mark.parametrize("dying", [{(1, 0): 2}, {(0, 1): 1, (1, 0): 1}])
def test_lost_workers_change_nothing_of_what_is_learnt_and_recorded(config, tmp_path, dying):
    config = rollouts_of(config.model_copy(update={"iterations": 2}), record=True)
    here = asyncio.run(train_here(TrainingRun.create(tmp_path / "here", config)))
    run = TrainingRun.create(tmp_path / "near", config)
    near, fleet = asyncio.run(train_near(run, dying))
    # Two attempts that end the same worker at the same moment are one loss.
    assert max(dying.values()) <= fleet.workers.statistics.lost <= sum(dying.values())
    assert all(fleet.played[attempt] > times for attempt, times in dying.items())
    assert untimed(near) == untimed(here)
    mine, theirs = weights(tmp_path / "here"), weights(tmp_path / "near")
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    found = {}
    for name in ("here", "near"):
        with closing(RunStore.open(tmp_path / name / "rollouts")) as store:
            rows = store.episodes()
            assert all(row.verdict.scored for row in rows)
            found[name] = sorted(
                (
                    row.plan.group,
                    row.plan.trial,
                    row.plan.seed,
                    row.verdict.score,
                    tokens(store, row),
                )
                for row in rows
            )
    assert len(found["near"]) == sum(each["episodes"] for each in near[1:])
    assert found["near"] == found["here"]


def tokens(store, row):
    """The sampled tokens of an episode, with log-probabilities and the version that sampled."""
    made = [g for step in store.steps(row.id) for g in step.decision.generations]
    return [
        (g.policy_version, g.tokens.completion_ids.tolist(), g.tokens.logprobs.tolist())
        for g in made
    ]


def test_an_attempt_that_kills_its_workers_is_missing_and_no_reward_of_zero(config, tmp_path):
    config = rollouts_of(config, record=True)
    run = TrainingRun.create(tmp_path / "run", config)

    async def play():
        async with near_player(run, {(7, 2): LOSSES}, jobs=1) as (player, *_):
            await player.update(0, lambda: None)
            return await player.group(Assignment(7, "demo/refund-v1", 3, 4))

    group = asyncio.run(play())
    assert len(group.trajectories) == 3
    (reason,) = group.missing
    assert reason.startswith(f"error:sandbox: {LOSSES} workers were lost")
    with closing(RunStore.open(tmp_path / "run" / "rollouts")) as store:
        statuses = {row.plan.trial: row.verdict.status for row in store.episodes()}
    assert statuses == {0: "scored", 1: "scored", 2: "error:sandbox", 3: "scored"}


def test_workers_sample_with_the_newest_weights_that_came(config, tmp_path):
    run = TrainingRun.create(tmp_path / "run", config)

    async def play():
        async with near_player(run) as (player, fleet, loaded, _):
            await player.update(3, lambda: None)
            before = await player.group(Assignment(0, "demo/refund-v1", 0, 4))
            with torch.no_grad():
                for each in loaded.module.parameters():
                    each.add_(0.5 * torch.randn_like(each))
            unsent = await player.group(Assignment(0, "demo/refund-v1", 0, 4))
            await player.update(4, lambda: None)
            after = await player.group(Assignment(0, "demo/refund-v1", 0, 4))
            assert not any(each.archive for each in fleet.results)
            return before, unsent, after

    before, unsent, after = asyncio.run(play())
    assert {each.tokens.oldest for each in before.trajectories} == {3}
    assert {each.tokens.oldest for each in after.trajectories} == {4}

    def sampled(group):
        return [each.tokens.sequences[0].logprobs for each in group.trajectories]

    assert sampled(unsent) == sampled(before)
    assert sampled(after) != sampled(before)


def test_the_bound_on_staleness_holds_on_workers(config, tmp_path):
    config = rollouts_of(config, staleness=2, surplus=Surplus.CONTINUE)
    config = config.model_copy(update={"iterations": 4})
    run = TrainingRun.create(tmp_path / "run", config)
    history, fleet = asyncio.run(train_near(run, {(1, 1): 1}))
    found = [each["staleness"] for each in history if "staleness" in each]
    assert found
    assert 0 <= min(found) <= max(found) <= 2
    assert fleet.workers.statistics.lost == 1


def test_trees_of_workers_are_those_of_one_process_and_their_forks_are_recorded(config, tmp_path):
    tree = TreeConfig(leaves=4, width=2, at=BranchAt.STEPS)
    config = rollouts_of(config, record=True, tree=tree)
    config = config.model_copy(update={"policy": config.policy.model_copy(update={"context": 64})})
    assignment = Assignment(5, "demo/refund-v1", 1, 2)
    run = TrainingRun.create(tmp_path / "run", config)

    async def near():
        async with near_player(run) as (player, *_):
            await player.update(0, lambda: None)
            return await player.group(assignment)

    async def here():
        async with open_environments(config) as environments:
            loaded = load_policy(config.policy, seed=config.seed)
            player = LocalPlayer(config, loaded, environments, None)
            group = await player.group(assignment)
            await player.close()
            return group

    mine, theirs = asyncio.run(near()), asyncio.run(here())
    assert mine.parents == theirs.parents
    assert len(mine.parents) > 2, "no episode branched"

    def told(group):
        return [
            (each.reward, each.nodes, each.leaf, each.tokens.sequences[0].ids)
            for each in group.trajectories
        ]

    assert told(mine) == told(theirs)
    with closing(RunStore.open(tmp_path / "run" / "rollouts")) as store:
        rows = store.episodes()
        assert all(row.verdict is not None for row in rows)
        assert sum(row.parent is None for row in rows) == 2
        assert len(rows) == len(mine.trajectories)
