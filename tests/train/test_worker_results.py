"""Results of broken workers: nothing is learnt from them, and the run says why."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from near_workers import near_player
from offline_runs import CONFIG, REFUND, write_refund

from agentgym.errors import RecordError
from agentgym.record.store import RunStore
from agentgym.train.config import load_config
from agentgym.train.rollouts import Assignment
from agentgym.train.training_run import TrainingRun

TASK = {**REFUND, "task.toml": REFUND["task.toml"].replace("max_steps = 4", "max_steps = 1")}
NAN, INF = float("nan"), float("inf")


def changed(**fields):
    """Return a change of each trajectory."""

    def spoil(played):
        trajectories = tuple(replace(one, **fields) for one in played.part.trajectories)
        return replace(played, part=replace(played.part, trajectories=trajectories))

    return spoil


def sampled(**fields):
    """Return a change of the tokens of each trajectory."""

    def spoil(played):
        (one,) = played.part.trajectories
        return changed(tokens=replace(one.tokens, **fields))(played)

    return spoil


def written(name, value):
    """Return a change of one column of the tokens."""

    def spoil(played):
        (one,) = played.part.trajectories
        column = getattr(one.tokens.sequences[0], name)
        column[-1:] = value
        return played

    return spoil


def of(**fields):
    """Return a change of what a worker adds to a group."""
    return lambda played: replace(played, part=replace(played.part, **fields))


SPOILT = {
    "nothing": (lambda played: None, "it is of type NoneType"),
    "no part": (lambda played: replace(played, part=None), "it is of type PlayedAttempt"),
    "large reward": (changed(reward=7.0), "its reward is 7.0"),
    "no number": (changed(reward=NAN), "its reward is nan"),
    "text": (changed(reward="1"), "another form"),
    "other score": (
        lambda played: changed(reward=1.0 - played.part.trajectories[0].reward)(played),
        "recorded no such score",
    ),
    "other group": (of(assignment=Assignment(9, "demo/refund-v1", 0, 4)), "another group"),
    "several": (
        lambda played: of(trajectories=played.part.trajectories * 5)(played),
        "it has 5 trajectories",
    ),
    "neither": (of(trajectories=()), "it has 0 trajectories, and 0 are missing"),
    "no states": (changed(states=()), "more than 0 completions"),
    "rewards of steps": (changed(step_rewards=(INF,)), "a reward of a step is not finite"),
    "too many rewards": (changed(step_rewards=(0.5,) * 9), "another number of rewards"),
    "no tree": (of(parents=(0,)), "its tree is no tree"),
    "no node": (changed(leaf=3), "it ends in no node"),
    "future version": (sampled(oldest=99), "sampled by version 99, and the newest is 0"),
    "no log-probability": (written("logprobs", [NAN]), "log-probabilities are not finite"),
    "one token more": (written("ids", [1, 1]), "differ in length"),
    "large token": (written("ids", [2**40]), "no token ids"),
    "token of another type": (written("ids", [np.float32(1)]), "no token ids"),
    "endless": (lambda played: replace(played, busy_s=INF), "it took inf s"),
    "cut off": (lambda played: replace(played, archive=played.archive[:2000]), "returned no run"),
}


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    found = load_config(write_refund(tmp_path, TASK, CONFIG))
    return found.model_copy(update={"rollouts": found.rollouts.model_copy(update={"record": True})})


async def play(run, spoil):
    async with near_player(run, spoil=spoil) as (player, _, _, _):
        await player.update(0, lambda: None)
        return await player.group(Assignment(0, "demo/refund-v1", 1, 1))


@pytest.mark.parametrize("name", SPOILT)
def test_a_result_that_answers_no_attempt_is_refused_and_not_recorded(config, tmp_path, name):
    spoil, told = SPOILT[name]
    run = TrainingRun.create(tmp_path / "run", config)
    with pytest.raises(RecordError, match=told):
        asyncio.run(play(run, spoil))
    with closing(RunStore.open(tmp_path / "run" / "rollouts")) as store:
        assert store.episodes() == []


def test_an_honest_result_is_learnt_from_and_recorded(config, tmp_path):
    run = TrainingRun.create(tmp_path / "run", config)
    group = asyncio.run(play(run, lambda played: played))
    with closing(RunStore.open(tmp_path / "run" / "rollouts")) as store:
        (row,) = store.episodes()
    assert [one.reward for one in group.trajectories] == [row.verdict.score]
