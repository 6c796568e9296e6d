"""Rollouts that branch, over real forks of the environment of a shop."""

from __future__ import annotations

import asyncio
import random
from contextlib import closing

import numpy as np
import pytest
from shop_task import write_shop
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.env.opening import load_built
from agentgym.errors import PolicyError, SandboxError, UnsupportedError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision, Generation, TokenTrace
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.train.batches import build_batch
from agentgym.train.branch_points import (
    BranchAt,
    TreeConfig,
)
from agentgym.train.config import Advantage
from agentgym.train.datasets.native import PAIRS, read_tokens
from agentgym.train.rollouts import Assignment, Rollouts
from agentgym.train.trees import play_tree

CALLS = [
    Action("message_user", {"text": "What is the order number?"}),
    Action("orders_refund", {"order": 17}),
    Action("orders_refund", {"order": 999}),
    Action("orders_get", {"order": 5}),
    Action("submit", {}),
]
FAILING, SUBMIT = 2, 4


class Drawing:
    """Draws its calls by its name, with a token for each; a row of its tokens stays one text."""

    def __init__(self, name, weights=(3, 3, 1, 3, 1), read=None):
        self.random = random.Random(name)
        self.weights, self.read, self.closed = weights, read, False

    async def start(self, briefing):
        self.opening = [7]

    async def act(self, observation, tools, history):
        if self.read is not None:
            self.read.append(observation.text)
        (drawn,) = self.random.choices(range(len(CALLS)), self.weights)
        prompt = [7]
        for step in history:
            prompt += [*step.decision.generations[-1].tokens.completion_ids.tolist(), 8]
        logprob = np.log(self.weights[drawn] / sum(self.weights))
        trace = TokenTrace(
            np.array(prompt, np.int32),
            np.array([drawn], np.int32),
            np.array([logprob], np.float32),
            np.ones(1, np.bool_),
        )
        return Decision(CALLS[drawn], generations=(Generation(trace, "stop", "0", {}),))

    def shown(self, tokens):
        return tokens

    async def close(self):
        self.closed = True


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    write_shop(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_PATH", str(root))
        patch.delenv("AGENTGYM_USER", raising=False)
        yield


def grown(config, make_policy=Drawing, check=None, starts=1):
    """Return a tree, and check that nothing of it stays open."""
    made, started = [], []

    def make(name):
        made.append(make_policy(name))
        return made[-1]

    async def play():
        provider = NoSandboxProvider()
        async with Environment(load_built("demo/refund-v1"), provider) as environment:
            start = environment.start

            async def counted(seed, **options):
                started.append(await start(seed, **options))
                return started[-1]

            environment.start = counted
            tree = await play_tree(environment, make, 0, config)
            del environment.start
            if check is not None:
                await check(environment, tree)
        await provider.close()
        return tree

    tree = asyncio.run(play())
    assert len(started) == starts
    assert all(episode.over for episode in started)
    assert all(policy.closed for policy in made)
    return tree


def actions(tree, leaf):
    return [step.action for node in tree.path(leaf) for step in tree.nodes[node].steps]


@pytest.mark.parametrize(
    "config",
    [
        TreeConfig(leaves=16, width=4, at=BranchAt.STEPS),
        TreeConfig(leaves=9, width=3, at=BranchAt.STEPS, steps=(1, 3)),
        TreeConfig(leaves=12, width=2, at=BranchAt.SURPRISE, surprise=1.5),
        TreeConfig(leaves=6, width=2, at=BranchAt.FAILURE),
    ],
)
def test_each_leaf_scores_what_its_actions_score_alone(shop, config):
    async def check(environment, tree):
        for leaf in tree.leaves:
            episode = await environment.start(0)
            async with episode:
                last = None
                for action in actions(tree, leaf):
                    last = await episode.step(action)
                verdict = last.verdict if last and last.verdict else await episode.finish()
            told = tree.nodes[leaf].result.verdict
            assert (told.status, told.score) == (verdict.status, verdict.score)

    tree = grown(config, check=check)
    assert 2 <= len(tree.leaves) <= config.leaves
    assert len({tuple(map(repr, actions(tree, leaf))) for leaf in tree.leaves}) > 1
    inner = {node.parent for node in tree.nodes}
    assert set(tree.leaves) == set(range(len(tree.nodes))) - inner


def test_the_shape_depends_on_the_names_only(shop):
    config = TreeConfig(leaves=16, width=3, at=BranchAt.STEPS)

    def shape(tree):
        return sorted(repr(actions(tree, leaf)) for leaf in tree.leaves)

    assert shape(grown(config)) == shape(grown(config))


def test_equal_calls_get_no_fork(shop):
    def one_call(name):
        return Drawing(name, weights=(0, 0, 0, 1, 0))

    tree = grown(TreeConfig(leaves=8, width=3, at=BranchAt.STEPS), one_call)
    assert (len(tree.leaves), tree.forks) == (1, 0)
    assert tree.alike > 8


def test_nearly_equal_calls_get_one_fork(shop):
    def refunds(name):
        return Drawing(name, weights=(0, 4, 4, 0, 1))

    told = {"leaves": 16, "width": 4, "at": BranchAt.STEPS}
    full = grown(TreeConfig(**told), refunds)
    few = grown(TreeConfig(**told, likeness=0.5), refunds)
    assert 0 < few.forks < full.forks
    assert few.alike > 0


def test_sixty_four_leaves_execute_each_step_once(shop):
    tree = grown(TreeConfig(leaves=64, width=4, at=BranchAt.STEPS))
    assert len(tree.leaves) > 30
    distinct = sum(len(node.steps) for node in tree.nodes)
    alone = sum(len(actions(tree, leaf)) for leaf in tree.leaves)
    assert distinct < 0.7 * alone
    assert tree.forks == len(tree.leaves) - 1


def test_a_failure_is_begun_anew_with_the_reflection(shop):
    read = []

    def failing_first(name):
        return Drawing(name, weights=(0, 0, 1, 0, 0) if name == "0" else (0, 1, 0, 0, 1), read=read)

    config = TreeConfig(leaves=3, width=3, at=BranchAt.FAILURE, reflection="That order is unknown.")
    tree = grown(config, failing_first)
    assert len(tree.leaves) == 3
    assert tree.nodes[0].steps == []
    assert [text.endswith("That order is unknown.") for text in read].count(True) == 2
    first = tree.nodes[tree.leaves[0]].steps[0]
    assert first.action == CALLS[FAILING]


def test_a_policy_that_fails_is_a_leaf_that_is_judged(shop):
    class Failing(Drawing):
        async def act(self, observation, tools, history):
            if self.random.random() < 0.4:
                raise PolicyError("prose")
            return await super().act(observation, tools, history)

    tree = grown(TreeConfig(leaves=8, width=3, at=BranchAt.STEPS), Failing)
    results = [tree.nodes[leaf].result for leaf in tree.leaves]
    assert any("prose" in result.error for result in results)
    assert all(result.verdict.scored for result in results)


@pytest.mark.parametrize("at", [BranchAt.STEPS, BranchAt.FAILURE])
def test_a_fork_that_fails_is_no_failure_of_the_policy(shop, monkeypatch, at):
    made = []
    fork = Episode.fork

    async def failing(episode):
        made.append(episode)
        if len(made) % 2:
            raise SandboxError("no space left on this machine")
        return await fork(episode)

    monkeypatch.setattr(Episode, "fork", failing)
    tree = grown(TreeConfig(leaves=8, width=3, at=at))
    results = [tree.nodes[leaf].result for leaf in tree.leaves]
    assert results and len(made) > 1
    assert {(result.verdict.status, result.error) for result in results} == {("scored", "")}
    assert set(tree.leaves) == set(range(len(tree.nodes))) - {node.parent for node in tree.nodes}


@pytest.mark.parametrize("at", [BranchAt.STEPS, BranchAt.FAILURE])
def test_a_state_that_cannot_be_forked_stops_no_training(shop, monkeypatch, at):
    fork = Episode.fork

    async def refusing(episode):
        if episode.steps:
            raise UnsupportedError("the page cannot be restored: a dialog is open")
        return await fork(episode)

    monkeypatch.setattr(Episode, "fork", refusing)
    tree = grown(TreeConfig(leaves=8, width=3, at=at), starts=2)
    results = [tree.nodes[leaf].result for leaf in tree.leaves]
    assert results
    assert {(result.verdict.status, result.error) for result in results} == {("scored", "")}


def test_episodes_that_cannot_be_forked_stop_the_training(shop, monkeypatch):
    async def refusing(episode):
        raise UnsupportedError("its server cannot be forked")

    monkeypatch.setattr(Episode, "fork", refusing)
    with pytest.raises(UnsupportedError, match="its server cannot be forked"):
        grown(TreeConfig(leaves=4, width=2, at=BranchAt.STEPS))


def test_what_leaves_share_is_trained_once_with_the_value_of_its_fork(shop):
    async def play():
        provider = NoSandboxProvider()
        async with Environment(load_built("demo/refund-v1"), provider) as environment:
            rollouts = Rollouts(
                {"demo/refund-v1": environment},
                lambda _, name: Drawing(name),
                jobs=4,
                tree=TreeConfig(leaves=8, width=2, at=BranchAt.STEPS, steps=(1, 2, 3)),
            )
            group = await rollouts.group(Assignment(0, "demo/refund-v1", 0, 2))
        await provider.close()
        return group

    group = asyncio.run(play())
    assert not group.missing
    rewards = [float(n % 3 == 0) for n in range(len(group.trajectories))]
    batch = build_batch([group], rewards, Advantage.TREE)
    distinct = {
        (node, n) for trajectory in group.trajectories for n, node in enumerate(trajectory.nodes)
    }
    assert int(batch.mask.sum()) == len(distinct)
    assert sum(trajectory.length for trajectory in group.trajectories) > len(distinct)
    assert len(set(batch.advantages[batch.mask].tolist())) > 2
    # The roots are compared with each other, so what they did first has the gain of their trees.
    second = group.parents.index(-1, 1)
    values = [
        np.mean(
            [
                reward
                for reward, each in zip(rewards, group.trajectories, strict=True)
                if (each.leaf >= second) is later
            ]
        )
        for later in (False, True)
    ]
    first = batch.advantages[batch.mask][0]
    assert first == pytest.approx(values[0] - values[1], abs=1e-5)


@pytest.mark.parametrize("at", [BranchAt.STEPS, BranchAt.FAILURE])
def test_a_recorded_tree_holds_every_leaf_and_every_step_once(shop, tmp_path, at):
    plan = EpisodePlan("demo/refund-v1", 0, 0, "policy", "g")
    config = TreeConfig(leaves=8, width=2, at=at)

    async def play(store):
        provider = NoSandboxProvider()
        async with Environment(load_built("demo/refund-v1"), provider) as environment:
            told = (environment, Drawing, 0, config)
            tree = await play_tree(*told, record=(store, 1))
            assert repr(leaves(await play_tree(*told))) == repr(leaves(tree))
        await provider.close()
        return tree

    def leaves(tree):
        found = [(tree.nodes[n].result.verdict.score, repr(actions(tree, n))) for n in tree.leaves]
        return sorted(found)

    with closing(RunStore.create(tmp_path / "run", {}, [plan])) as store:
        tree = asyncio.run(play(store))
        rows = [row for row in store.episodes() if row.verdict.scored]
        recorded = [
            (row.verdict.score, repr([step.action for step in store.steps(row.id)])) for row in rows
        ]
        (held,) = store._database.rows("SELECT COUNT(*) AS n FROM steps")
        assert all(row.plan.group == "g" for row in rows)
    assert sorted(recorded) == leaves(tree) and len(recorded) > 2
    assert held["n"] == sum(len(node.steps) for node in tree.nodes)


def test_a_tree_that_breaks_is_recorded_as_an_episode_without_a_score(shop, tmp_path):
    async def play(store):
        provider = NoSandboxProvider()
        async with Environment(load_built("demo/refund-v1"), provider) as environment:

            async def broken(seed, **_):
                raise SandboxError("no room")

            environment.start = broken
            tree = TreeConfig(leaves=2, width=2, at=BranchAt.STEPS)
            told = ({"demo/refund-v1": environment}, lambda _, name: Drawing(name))
            rollouts = Rollouts(*told, jobs=1, tree=tree, store=store)
            group = await rollouts.group(Assignment(0, "demo/refund-v1", 0, 1))
            del environment.start
        await provider.close()
        return group

    with closing(RunStore.create(tmp_path / "run", {}, [])) as store:
        group = asyncio.run(play(store))
        (row,) = store.episodes()
    assert group.missing == ("SandboxError: no room",)
    assert (row.verdict.status, row.error) == ("error:sandbox", "no room")


def test_recorded_trees_become_preference_pairs_with_their_tokens(shop, tmp_path):
    async def play(store):
        provider = NoSandboxProvider()
        async with Environment(load_built("demo/refund-v1"), provider) as environment:
            rollouts = Rollouts(
                {"demo/refund-v1": environment},
                lambda _, name: Drawing(name, (1, 2, 0, 1, 2)),
                jobs=4,
                tree=TreeConfig(leaves=8, width=3, at=BranchAt.STEPS),
                store=store,
            )
            make = environment.task.instance
            seed = next(n for n in range(99) if make(n).params["case"]["order"] == 17)
            group = await rollouts.group(Assignment(0, "demo/refund-v1", seed, 2))
        await provider.close()
        return group

    with closing(RunStore.create(tmp_path / "run", {}, [])) as store:
        group = asyncio.run(play(store))
        scores = [row.verdict.score for row in store.episodes() if row.verdict.scored]
    assert sorted(scores) == sorted(each.reward for each in group.trajectories)
    assert len(set(scores)) > 1
    told = ["pairs", str(tmp_path / "run"), "--form", "native", "--out", str(tmp_path / "p.npz")]
    done = CliRunner().invoke(app, ["dataset", *told])
    assert done.exit_code == 0, done.output
    for pair in read_tokens(tmp_path / "p.npz", PAIRS).episodes:
        chosen, rejected = pair.tokens.sequences
        assert chosen.ids[:-1] == rejected.ids[:-1] and chosen.ids[-1] != rejected.ids[-1]
        assert pair.origin["margin"] > 0
