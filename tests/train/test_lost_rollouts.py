"""Attempts that end a process which episodes share: played again alone, so none leaves the mean."""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest
from shop_task import write_shop

from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.errors import SurfaceEndedError, SurfaceLostError
from agentgym.record.store import RunStore
from agentgym.records import Action, Decision
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.train.branch_points import BranchAt, TreeConfig
from agentgym.train.rollouts import Assignment, Rollouts

LOOK = Action("orders_get", {"order": 5})
FLAT, TREE = None, TreeConfig(leaves=2, width=2, at=BranchAt.STEPS, steps=(1,))


class Ending:
    """Looks once, and then ends what episodes share."""

    def __init__(self, name, asked=None):
        self.name, self.asked = name, [] if asked is None else asked

    async def start(self, briefing):
        pass

    async def act(self, observation, tools, history):
        self.asked.append((self.name, len(history)))
        return Decision(LOOK if not history else Action("submit", {}))

    def shown(self, tokens):
        return tokens

    async def close(self):
        pass


@pytest.fixture
def shop(tmp_path, monkeypatch):
    write_shop(tmp_path)
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    monkeypatch.delenv("AGENTGYM_USER", raising=False)


def played(tree, store, monkeypatch, *, fatal, asked=None):
    """Return a group of two whose second step ends the browser, and how each episode began."""
    began = []

    async def play():
        provider = NoSandboxProvider()
        async with Environment(load_built("demo/refund-v1"), provider) as environment:
            start = environment.start

            async def watched(seed, *, alone=False):
                began.append(alone)
                episode = await start(seed, alone=alone)
                assert episode._parts.alone is alone
                step = episode.step

                async def stepping(action, **options):
                    if episode.steps and fatal(alone):
                        ended = SurfaceEndedError if alone else SurfaceLostError
                        raise ended("the browser does not answer")
                    return await step(action, **options)

                episode.step = stepping
                return episode

            monkeypatch.setattr(environment, "start", watched)
            rollouts = Rollouts(
                {"demo/refund-v1": environment},
                lambda _, name: Ending(name, asked),
                jobs=2,
                tree=tree,
                store=store,
            )
            group = await rollouts.group(Assignment(0, "demo/refund-v1", 0, 2))
            monkeypatch.undo()
        await provider.close()
        return group

    return asyncio.run(play()), began


@pytest.mark.parametrize("tree", [FLAT, TREE], ids=["flat", "tree"])
def test_a_lost_attempt_is_played_again_alone_and_counts(shop, tmp_path, monkeypatch, tree):
    with closing(RunStore.create(tmp_path / "run", {}, [])) as store:
        group, began = played(tree, store, monkeypatch, fatal=lambda alone: not alone)
        rows = store.episodes()
    assert not group.missing and len(group.trajectories) == 2
    assert sorted(began) == [False, False, True, True]
    assert {row.verdict.status for row in rows} == {"scored"} and len(rows) == 2


@pytest.mark.parametrize("tree", [FLAT, TREE], ids=["flat", "tree"])
def test_an_attempt_that_is_lost_alone_is_not_played_a_third_time(
    shop, tmp_path, monkeypatch, tree
):
    with closing(RunStore.create(tmp_path / "run", {}, [])) as store:
        _, began = played(tree, store, monkeypatch, fatal=lambda alone: True)
    assert sorted(began) == [False, False, True, True]


def test_a_lost_attempt_goes_on_from_its_steps_and_has_no_second_chance(
    shop, tmp_path, monkeypatch
):
    """A policy that ended the browser when it had failed could begin anew: the best of two."""
    asked = []
    with closing(RunStore.create(tmp_path / "run", {}, [])) as store:
        group, _ = played(None, store, monkeypatch, fatal=lambda alone: not alone, asked=asked)
        rows = store.episodes()
        steps = [[step.action.tool for step in store.steps(row.id)] for row in rows]
    assert sorted(asked) == [("0", 0), ("0", 1), ("0", 1), ("1", 0), ("1", 1), ("1", 1)]
    assert steps == [["orders_get", "submit"]] * 2
    assert len(group.trajectories) == 2
    assert all("played again" in row.log for row in rows)
