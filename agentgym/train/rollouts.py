"""Groups of episodes for training: attempts at one task with one seed, many groups at a time.

An episode without a score (a dead sandbox, a broken check) is missing data: it is left out of its
group and never becomes a reward of 0. A group in which all rewards are equal teaches nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from agentgym.env.environment import Environment
from agentgym.env.outcome import Ending, failed
from agentgym.env.recording import record_end
from agentgym.errors import AgentGymError, RecordError, UnsupportedError
from agentgym.record.episode_rows import EpisodePlan
from agentgym.record.store import RunStore
from agentgym.records import Generation, Step
from agentgym.rollout.again import once_more_if_lost
from agentgym.rollout.run import EpisodeResult, run_episode
from agentgym.train.branch_points import TreeConfig
from agentgym.train.policy import TokenPolicy
from agentgym.train.samples import EpisodeTokens, episode_tokens
from agentgym.train.step_rewards import StepRewards
from agentgym.train.trees import EpisodeTree, play_tree

POLICY: Final = "policy"
"""Name of the trained policy in a record."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A group to play.

    Attributes:
        number: Counts the groups of a run; all draws of a group derive from it.
        task: Task id.
        seed: Seed of the episodes.
        size: Number of attempts.
    """

    number: int
    task: str
    seed: int
    size: int


@dataclass(frozen=True)
class Trajectory:
    """One scored episode as a trainer sees it.

    Attributes:
        reward: Its score, 0..1.
        tokens: What the policy read and sampled.
        states: For each completion a digest of all that was done and seen before it, so that
            equal digests are equal states.
        nodes: For each completion the node of its tree; empty if the group has no forks.
        leaf: The node in which it ends, -1 if the group has no forks.
        step_rewards: For each completion the reward of its step, the score not included; empty if
            steps have no rewards.
        length: Number of completions.
    """

    reward: float
    tokens: EpisodeTokens
    states: tuple[str, ...]
    nodes: tuple[int, ...] = ()
    leaf: int = -1
    step_rewards: tuple[float, ...] = ()

    @property
    def length(self) -> int:
        """Number of completions."""
        return len(self.states)


@dataclass(frozen=True)
class Group:
    """The scored attempts at one task with one seed.

    Attributes:
        assignment: What was played.
        trajectories: Those with a score.
        missing: Why each of the other attempts has no score.
        parents: For each node of its trees the index of its parent, -1 for a root; empty if the
            group has no forks.
    """

    assignment: Assignment
    trajectories: tuple[Trajectory, ...]
    missing: tuple[str, ...] = ()
    parents: tuple[int, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether two of its rewards differ, those of steps included."""
        return len({(each.reward, each.step_rewards) for each in self.trajectories}) > 1

    @property
    def oldest(self) -> int:
        """The first version of the policy that sampled for it; 0 if none is known."""
        versions = [each.tokens.oldest for each in self.trajectories]
        return min((version for version in versions if version is not None), default=0)


class Rollouts:
    """Plays groups of episodes, a bounded number of episodes at a time.

    Args:
        environments: By task id.
        make_policy: Returns a policy for an attempt of a group, given the attempt's name.
        jobs: Largest number of live episodes, or of live trees.
        tree: How episodes branch, None if they do not.
        store: Records the episodes, each in the group of its assignment.
        step_rewards: Gives rewards to single steps; None: they have none.

    Attributes:
        episodes: How many have ended.
        busy_s: Sum of their wall times in seconds, without the time they waited to begin.
    """

    def __init__(
        self,
        environments: dict[str, Environment],
        make_policy: Callable[[Assignment, str], TokenPolicy],
        *,
        jobs: int,
        tree: TreeConfig | None = None,
        store: RunStore | None = None,
        step_rewards: StepRewards | None = None,
    ) -> None:
        self._environments, self._make_policy, self._tree = environments, make_policy, tree
        self._store, self._step_rewards = store, step_rewards
        self._slots = asyncio.Semaphore(jobs)
        self.episodes, self.busy_s = 0, 0.0

    async def group(self, assignment: Assignment) -> Group:
        """Play the attempts of a group; each attempt is a tree if the rollouts branch."""
        attempts = range(assignment.size)
        played = await asyncio.gather(*(self.attempt(assignment, each) for each in attempts))
        return joined(assignment, played)

    async def attempt(self, assignment: Assignment, attempt: int) -> Group:
        """Play one attempt of a group, and return what it adds to the group; see `joined`."""
        play = self._play if self._tree is None else self._grow
        return await play(assignment, attempt)

    async def _play(self, assignment: Assignment, attempt: int) -> Group:
        steps: list[Step] = []
        async with self._slots:
            began_s = time.monotonic()
            episode_id = await self._planned(assignment, attempt)
            policy = self._make_policy(assignment, str(attempt))

            async def play(note: str) -> EpisodeResult:
                nonlocal policy
                if note:
                    if self._store is None:
                        steps.clear()
                    policy = self._make_policy(assignment, str(attempt))
                return await run_episode(
                    self._environments[assignment.task],
                    policy,
                    seed=assignment.seed,
                    store=self._store,
                    episode_id=episode_id,
                    on_step=steps.append,
                    step_tests=self._step_rewards is not None and self._step_rewards.runs_tests,
                    alone=bool(note),
                    note=note,
                )

            result = await once_more_if_lost(play, self._store, episode_id)
            self.busy_s += time.monotonic() - began_s
            self.episodes += 1
        if not result.verdict.scored:
            return _unscored(assignment, f"{result.verdict.status}: {result.error}")
        values: Sequence[float] = ()
        if self._step_rewards is not None:
            try:
                values = await self._step_values(self._step_rewards, assignment, steps, result)
            except AgentGymError as error:
                return _unscored(assignment, f"step rewards: {error}")
        found = _trajectory(steps, result, values=values)
        return Group(assignment, (replace(found, tokens=policy.shown(found.tokens)),))

    async def _step_values(
        self,
        rewards: StepRewards,
        assignment: Assignment,
        steps: Sequence[Step],
        result: EpisodeResult,
    ) -> list[float]:
        instance = self._environments[assignment.task].task.instance(assignment.seed)
        return await rewards.rewards(instance, steps, result.verdict, result.step_tests)

    async def _planned(self, assignment: Assignment, attempt: int) -> int | None:
        """Add an attempt to the record, if there is one, and return its id."""
        if (store := self._store) is None:
            return None
        return await store.threads.finish(store.add, plan_of(assignment, attempt))

    async def _end(
        self,
        store: RunStore,
        episode_id: int,
        environment: Environment,
        ending: Ending,
        began_s: float,
    ) -> None:
        """Record the end of a tree's root that broke; its forks have their own ends."""
        row = await store.threads.finish(store.episode, episode_id)
        if row.state != "done":
            name, spent_s = environment.provider.name, time.monotonic() - began_s
            await store.threads.finish(record_end, store, row, name, ending, spent_s)

    async def _grow(self, assignment: Assignment, attempt: int) -> Group:
        assert self._tree is not None
        async with self._slots:
            began_s = time.monotonic()
            episode_id = await self._planned(assignment, attempt)

            async def play(note: str) -> _Grown:
                return await self._grown(assignment, attempt, episode_id, alone=bool(note))

            grown = await once_more_if_lost(play, self._store, episode_id, resumes=False)
            self.busy_s += time.monotonic() - began_s
        if grown.tree is None:
            return _unscored(assignment, grown.error)
        return _leaves(assignment, grown.tree)

    async def _grown(
        self, assignment: Assignment, attempt: int, episode_id: int | None, *, alone: bool
    ) -> _Grown:
        """Grow the tree of an attempt; a tree that breaks is missing data, as an episode is."""
        assert self._tree is not None
        began_s = time.monotonic()
        environment = self._environments[assignment.task]
        record = None if self._store is None else (self._store, episode_id or 0)
        try:
            tree = await play_tree(
                environment,
                lambda name: self._make_policy(assignment, f"{attempt} {name}"),
                assignment.seed,
                self._tree,
                record=record,
                alone=alone,
            )
        except UnsupportedError:
            raise
        except Exception as error:
            first = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
            if isinstance(first, RecordError):
                raise first from error
            ending = failed(first)
            if record is not None:
                await self._end(*record, environment, ending, began_s)
            return _Grown(None, f"{type(first).__name__}: {first}", ending.lost)
        ended = [node.result for node in tree.nodes if node.result is not None]
        lost = next((result for result in ended if result.lost), None)
        return _Grown(tree, "" if lost is None else lost.error, lost is not None)


@dataclass(frozen=True, slots=True)
class _Grown:
    """The tree of an attempt.

    Attributes:
        tree: None if it broke.
        error: Why it broke, or a leaf was lost.
        lost: Whether a process that episodes share ended it or one of its leaves.
    """

    tree: EpisodeTree | None
    error: str
    lost: bool


def plan_of(assignment: Assignment, attempt: int) -> EpisodePlan:
    """Return an attempt as a record plans it."""
    group = f"{assignment.number}"
    return EpisodePlan(assignment.task, assignment.seed, attempt, POLICY, group)


def joined(assignment: Assignment, parts: Sequence[Group]) -> Group:
    """Return the attempts of a group, played apart from each other, as one group."""
    trajectories, missing, parents = list[Trajectory](), list[str](), list[int]()
    for part in parts:
        first = len(parents)
        parents += [parent + first if parent >= 0 else -1 for parent in part.parents]
        missing += part.missing
        for each in part.trajectories:
            if each.leaf >= 0:
                nodes = tuple(node + first for node in each.nodes)
                each = replace(each, nodes=nodes, leaf=each.leaf + first)
            trajectories.append(each)
    return Group(assignment, tuple(trajectories), tuple(missing), tuple(parents))


def _unscored(assignment: Assignment, reason: str) -> Group:
    """Return an attempt that adds nothing to its group."""
    return Group(assignment, (), (reason,))


def _trajectory(
    steps: Sequence[Step],
    result: EpisodeResult,
    nodes: Sequence[int] = (),
    values: Sequence[float] = (),
) -> Trajectory:
    """Return an episode as a trainer sees it.

    Args:
        steps: Its steps.
        result: How it ended.
        nodes: The node of each step and of its end, if it is a path of a tree.
        values: The reward of each step, if steps have rewards.
    """
    completions, at, rewards = list[Generation](), list[int](), list[float]()
    for number, step in enumerate(steps):
        generations = step.decision.generations or ()
        completions += generations
        at += [nodes[number]] * len(generations) if nodes else []
        if values and generations:
            # The last completion made the call; those before it were refused.
            rewards += [0.0] * (len(generations) - 1) + [values[number]]
    refused = result.refused or ()
    completions += refused
    at += [nodes[-1]] * len(refused) if nodes else []
    rewards += [0.0] * len(refused) if values else []
    tokens = episode_tokens(enumerate(completions))
    states = _states(steps, len(completions))
    leaf = nodes[-1] if nodes else -1
    return Trajectory(result.verdict.score, tokens, states, tuple(at), leaf, tuple(rewards))


def _leaves(assignment: Assignment, tree: EpisodeTree) -> Group:
    """Return the leaves of a tree as a group of its own."""
    trajectories, missing = list[Trajectory](), list[str]()
    for leaf in tree.leaves:
        result, path = tree.nodes[leaf].result, tree.path(leaf)
        assert result is not None  # It is a leaf.
        if not result.verdict.scored:
            missing.append(f"{result.verdict.status}: {result.error}")
            continue
        steps = [(node, step) for node in path for step in tree.nodes[node].steps]
        nodes = [node for node, _ in steps] + [leaf]
        found = _trajectory([step for _, step in steps], result, nodes)
        policy = cast(TokenPolicy, tree.nodes[leaf].policy)
        trajectories.append(replace(found, tokens=policy.shown(found.tokens)))
    parents = tuple(node.parent for node in tree.nodes)
    return Group(assignment, tuple(trajectories), tuple(missing), parents)


def _states(steps: Sequence[Step], completions: int) -> tuple[str, ...]:
    """Return a digest of what was done and seen before each completion."""
    digest, found = hashlib.sha256(), []
    for step in steps:
        found += [digest.hexdigest()[:16]] * len(step.decision.generations or ())
        digest.update(repr((step.action, step.observation.text)).encode())
    found += [digest.hexdigest()[:16]] * (completions - len(found))
    return tuple(found)
