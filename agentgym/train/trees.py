"""Rollouts that branch: an episode is forked at chosen steps, and each branch goes on by itself.

A branch is chosen before its sandbox is forked: at a branching step several completions are
sampled, and only those with different calls get a fork, because equal calls from one state lead to
one state. Calls that nearly agree can count as equal (`TreeConfig.likeness`). The number of leaves
is divided among the branches, so the shape of a tree does not depend on which branch is faster.

Source: Ji et al. 2025, "Tree Search for LLM Agent Reinforcement Learning" (Tree-GRPO).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.env.recording import EpisodeRecording
from agentgym.errors import PolicyError, SandboxError, SurfaceError, UnsupportedError
from agentgym.protocols import Agent
from agentgym.record.store import RunStore
from agentgym.records import Action, Briefing, Decision, Effect, Observation, Step, ToolSpec
from agentgym.rollout.policy import HeldAgent, releasing
from agentgym.rollout.reexecution import Reexecution
from agentgym.rollout.run import EpisodeResult, Rollout
from agentgym.train.branch_points import BranchAt, TreeConfig, is_branching, is_like

_FAILED = (Effect.ERROR, Effect.TIMEOUT)


@dataclass
class TreeNode:
    """A stretch of steps that no fork divides.

    Attributes:
        parent: Index of the node before it, -1 for the root.
        steps: Its own steps.
        result: How the episode ended, None for a node with children.
        policy: The policy that ended it, which has read the whole way; None for a node with
            children.
    """

    parent: int
    steps: list[Step] = field(default_factory=list)
    result: EpisodeResult | None = None
    policy: Agent | None = None


@dataclass(frozen=True)
class EpisodeTree:
    """A tree of one task with one seed.

    Attributes:
        nodes: Each after its parent.
        forks: Sandboxes that were forked. A branch whose fork failed is left out; it is no failure
            of the policy, and the others go on.
        alike: Sampled calls that were not followed, because a sibling makes the same or nearly so.
    """

    nodes: Sequence[TreeNode]
    forks: int
    alike: int

    @property
    def leaves(self) -> list[int]:
        """Indices of the nodes that ended."""
        return [index for index, node in enumerate(self.nodes) if node.result is not None]

    def path(self, leaf: int) -> list[int]:
        """Return the nodes from the root to a leaf."""
        found = [leaf]
        while (parent := self.nodes[found[-1]].parent) >= 0:
            found.append(parent)
        return found[::-1]


async def play_tree(
    environment: Environment,
    make_policy: Callable[[str], Agent],
    seed: int,
    config: TreeConfig,
    *,
    record: tuple[RunStore, int] | None = None,
    alone: bool = False,
) -> EpisodeTree:
    """Play a tree.

    Args:
        environment: Where it happens.
        make_policy: Returns a policy for a branch, given its name (``"0.2.1"``: the choices at the
            forks on its way).
        seed: Seed of the episodes.
        config: Where to branch, and how often.
        record: A run and the id of a planned episode in it, which becomes the root; the forks
            become episodes of the run, too. None: nothing is recorded.
        alone: Whether its episodes share no process with other episodes; see `Environment.start`.

    Raises:
        UnsupportedError: No episode of this environment can be forked, not even at its start.
        AgentGymError: The root episode cannot be started.
    """
    return await _Player(environment, make_policy, seed, config).play(record, alone=alone)


class _Player:
    def __init__(
        self,
        environment: Environment,
        make_policy: Callable[[str], Agent],
        seed: int,
        config: TreeConfig,
    ) -> None:
        self._environment, self._seed = environment, seed
        self.make_policy, self.config = make_policy, config
        self.nodes = [TreeNode(-1)]
        self.forks = self.alike = 0
        self._branches = asyncio.TaskGroup()
        self._episodes: list[Episode] = []
        self._unsupported: UnsupportedError | None = None
        self._alone = False
        self._looking = asyncio.Lock()
        self._forkable: bool | None = None

    async def play(self, record: tuple[RunStore, int] | None, *, alone: bool) -> EpisodeTree:
        self._alone = alone
        episode = await self._environment.start(self._seed, alone=alone)
        self._episodes.append(episode)
        try:
            if record is not None:
                await EpisodeRecording.begin(*record, episode)
            async with self._branches:
                self.begin(_Branch(self, episode, 0, "0", self.config.leaves), episode.first)
        finally:
            # Forks whose branch did not begin are open still.
            for each in self._episodes:
                await each.close()
        if self._unsupported is not None:
            raise self._unsupported
        return EpisodeTree(tuple(self.nodes), self.forks, self.alike)

    def begin(self, branch: _Branch, observation: Observation) -> None:
        """Let a branch go on by itself."""
        self._branches.create_task(branch.play(observation))

    async def fork(self, episode: Episode) -> Episode | None:
        """Return a fork; None if it cannot be made now, which is nothing that the policy did."""
        try:
            made = await episode.fork()
        except UnsupportedError as error:
            # A policy can bring about a state without a fork, such as a page with an open dialog.
            async with self._looking:
                if self._forkable is None:
                    self._forkable = await self._forks_untouched()
            if not self._forkable:
                self._unsupported = error
            return None
        except (SandboxError, SurfaceError):
            return None
        self.forks += 1
        self._episodes.append(made)
        return made

    async def _forks_untouched(self) -> bool:
        """Return whether an episode in which no policy has acted can be forked."""
        try:
            async with await self._environment.start(self._seed, alone=self._alone) as episode:
                await (await episode.fork()).close()
        except UnsupportedError:
            return False
        except (SandboxError, SurfaceError):
            return True
        return True

    def child(self, parent: int) -> int:
        """Add a node, and return its index."""
        self.nodes.append(TreeNode(parent))
        return len(self.nodes) - 1


class _Branch(HeldAgent):
    """The agent of one branch: a policy, and the forks that are made on its way.

    Args:
        player: The tree.
        episode: Its own.
        node: Index of the node that its steps belong to.
        name: The choices on its way.
        leaves: How many leaves it may still become.
        remark: A text that is added to the first observation that it reads.
    """

    def __init__(
        self,
        player: _Player,
        episode: Episode,
        node: int,
        name: str,
        leaves: int,
        *,
        remark: str = "",
    ) -> None:
        self._player, self._episode, self._node, self._name = player, episode, node, name
        self._leaves, self._remark = leaves, remark
        self._policy = player.make_policy(name)
        self._first: Decision | PolicyError | None = None
        self._briefed = False
        self._briefing: Briefing | None = None
        self._forks = 0
        self._bookmarks: list[tuple[Episode | None, Observation]] = []

    async def play(self, observation: Observation) -> None:
        """Act until the episode is over."""
        rollout = Rollout(self._episode, self, timeout_s=None, on_step=self._take)
        async with self._episode, releasing(self):
            result = await rollout.complete(Reexecution(self._episode, observation))
        node = self._player.nodes[self._node]
        node.result, node.policy = result, self._policy
        if result.verdict.scored and not result.verdict.outcome and self._leaves > 1:
            await self._restart()
        for episode, _ in self._bookmarks:
            if episode is not None:
                await episode.close()

    async def start(self, briefing: Briefing) -> None:
        self._briefing = briefing
        if not self._briefed:
            await self._policy.start(briefing)

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        if self._remark:
            observation = replace(observation, text=f"{observation.text}\n{self._remark}")
            self._remark = ""
        if self._first is not None:
            first, self._first = self._first, None
            if isinstance(first, PolicyError):
                raise first
            return first
        config = self._player.config
        if config.at is BranchAt.FAILURE and self._leaves > 1:
            self._bookmarks.append((await self._player.fork(self._episode), observation))
        decision = await self._policy.act(observation, tools, history)
        if self._leaves > 1 and is_branching(config, decision, len(history)):
            await self._branch(decision, observation, tools, history)
        return decision

    @property
    def suspends(self) -> bool:
        return isinstance(self._policy, HeldAgent) and self._policy.suspends

    async def ready(self) -> None:
        if isinstance(self._policy, HeldAgent):
            await self._policy.ready()

    async def close(self) -> None:
        await self._policy.close()

    def _take(self, step: Step) -> None:
        self._player.nodes[self._node].steps.append(step)

    async def _branch(
        self,
        decision: Decision,
        observation: Observation,
        tools: Sequence[ToolSpec],
        history: Sequence[Step],
    ) -> None:
        """Sample other decisions for this state, and fork the episode for those that differ."""
        player, known, siblings = self._player, [decision.action], list[_Branch]()
        try:
            for _ in range(min(player.config.width, self._leaves) - 1):
                self._forks += 1
                branch = _Branch(player, self._episode, -1, f"{self._name}.{self._forks}", 1)
                siblings.append(branch)
                action = await branch._choose(self._briefing, observation, tools, history)
                if action and any(is_like(action, one, player.config.likeness) for one in known):
                    player.alike += 1
                    await siblings.pop().close()
                    continue
                known += [action] if action else []
                if (forked := await player.fork(self._episode)) is None:
                    await siblings.pop().close()
                else:
                    branch._episode = forked
        except BaseException:
            for branch in siblings:
                await branch.close()
            raise
        if siblings:
            self._divide(siblings)
            for branch in siblings:
                player.begin(branch, observation)

    async def _choose(
        self,
        briefing: Briefing | None,
        observation: Observation,
        tools: Sequence[ToolSpec],
        history: Sequence[Step],
    ) -> Action | None:
        """Sample the first decision ahead; returns its call, None if the policy failed."""
        assert briefing is not None  # The engine starts an agent before it acts.
        await self.start(briefing)
        self._briefed = True
        try:
            self._first = await self._policy.act(observation, tools, history)
        except PolicyError as error:
            self._first = error
            return None
        return self._first.action

    def _divide(self, siblings: Sequence[_Branch]) -> None:
        """End this node, and share the leaves among those that go on from it."""
        parent, branches = self._node, [self, *siblings]
        share, more = divmod(self._leaves, len(branches))
        for number, branch in enumerate(branches):
            branch._node = self._player.child(parent)
            branch._leaves = share + (number < more)

    async def _restart(self) -> None:
        """Go on anew from the first step that failed, or the last one if none failed."""
        player, config = self._player, self._player.config
        node = player.nodes[self._node]
        failing = (n for n, step in enumerate(node.steps) if step.observation.effect in _FAILED)
        at = min(next(failing, len(node.steps) - 1), len(self._bookmarks) - 1)
        if at < 0:
            return
        episode, observation = self._bookmarks[at]
        if episode is None:
            return
        ended = player.child(self._node)
        player.nodes[ended].steps, node.steps = node.steps[at:], node.steps[:at]
        player.nodes[ended].result, node.result = node.result, None
        player.nodes[ended].policy, node.policy = node.policy, None
        count = min(config.width, self._leaves) - 1
        share, more = divmod(self._leaves - 1, count)
        for number in range(count):
            if (forked := await player.fork(episode)) is None:
                continue
            child, leaves = player.child(self._node), share + (number < more)
            branch = _Branch(
                *(player, forked, child, f"{self._name}.{number + 1}", leaves),
                remark=config.reflection,
            )
            player.begin(branch, observation)
