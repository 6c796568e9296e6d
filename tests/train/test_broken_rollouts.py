"""Attempts that break: held against their actions, and what the policy said for them is learnt."""

from __future__ import annotations

import asyncio
from contextlib import closing

import numpy as np
import pytest
from shop_task import write_shop

from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.env.opening import load_built
from agentgym.errors import SandboxError
from agentgym.record.store import RunStore
from agentgym.records import Action, Decision
from agentgym.records.generations import Generation, TokenTrace
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.train.branch_points import BranchAt, TreeConfig
from agentgym.train.rollouts import Assignment, Rollouts

LOOK, BREAK = Action("orders_get", {"order": 5}), Action("orders_get", {"order": 6})
FLAT, TREE = None, TreeConfig(leaves=2, width=2, at=BranchAt.STEPS, steps=(1,))


class Breaking:
    """Looks, makes a call that may break the episode, and submits; call N is the token N."""

    async def start(self, briefing):
        pass

    async def act(self, observation, tools, history):
        said = np.array([len(history)], np.int32)
        trace = TokenTrace(np.array([9], np.int32), said, np.zeros(1, np.float32))
        action = (LOOK, BREAK, Action("submit", {}))[len(history)]
        return Decision(action, generations=(Generation(trace, "stop", "0", {}),))

    def shown(self, tokens):
        return tokens

    async def close(self):
        pass


@pytest.fixture
def played(tmp_path, monkeypatch):
    """Returns a group of one whose second call breaks so many episodes."""
    write_shop(tmp_path)
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    monkeypatch.delenv("AGENTGYM_USER", raising=False)
    taken = Episode.step

    def play(tree, times):
        left = [times]

        async def step(self, decision, **options):
            if decision.action == BREAK and left[0]:
                left[0] -= 1
                raise SandboxError("it breaks")
            return await taken(self, decision, **options)

        monkeypatch.setattr(Episode, "step", step)

        async def group():
            async with Environment(load_built("demo/refund-v1"), NoSandboxProvider()) as world:
                rollouts = Rollouts(
                    {"demo/refund-v1": world},
                    lambda assignment, name: Breaking(),
                    jobs=1,
                    tree=tree,
                    store=store,
                )
                return await rollouts.group(Assignment(0, "demo/refund-v1", 0, 1))

        with closing(RunStore.create(tmp_path / "run", {}, [])) as store:
            return asyncio.run(group())

    return play


def said(trajectory):
    return [int(each.ids[-1]) for each in trajectory.tokens.sequences]


@pytest.mark.parametrize("tree", [FLAT, TREE], ids=["flat", "tree"])
def test_what_breaks_an_attempt_is_learnt_from(played, tree):
    group = played(tree, 99)
    assert not group.missing and [each.reward for each in group.trajectories] == [0.0]
    assert said(*group.trajectories) == [0, 1]


def test_an_attempt_that_broke_by_chance_goes_on(played):
    group = played(FLAT, 1)
    assert not group.missing and said(*group.trajectories) == [0, 1, 2]


def test_a_tree_that_broke_by_chance_does_not_begin_anew(played):
    # A policy that had failed would have another attempt.
    group = played(TREE, 1)
    assert group.missing == ("error:sandbox: it breaks",) and not group.trajectories
