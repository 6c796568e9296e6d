"""Semi-online replay: a policy acts along a recorded expert episode and keeps its own replies.

Source: Lu et al. 2025, "UI-S1: Advancing GUI Automation via Semi-online Reinforcement Learning"
(arXiv 2509.11543). The policy reads its own history. While its call matches the expert's, the
recorded observation follows. On a divergence, the expert's call is patched into the history, as
often as the patch threshold allows; then the rollout ends.

- reward: ``r_t = 0.1 r_format + 0.4 r_type + 0.5 r_accuracy``; the type counts if the format is
  right, the accuracy if the type is right, too. Format: a usable call. Type: the expert's tool.
  Accuracy: the expert's arguments.
- return: ``R_t = sum_{k >= t} gamma^(k - t) r_k`` up to the last step before a divergence; a
  divergent step has its own reward, and none of it reaches the steps before.
- advantage: ``A = A_episode + omega A_step``, over the rollouts of one expert episode and over
  their steps of one number: `agentgym.train.advantages.gigpo` with the numbers of steps as states.

Nothing is executed: no call of the policy reaches an environment.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final, TypeVar

import numpy as np

from agentgym.agents.blame import blame
from agentgym.errors import AgentError, PolicyError, pass_interruptions
from agentgym.protocols import Agent
from agentgym.protocols.training import EncodingTemplate
from agentgym.record import codec
from agentgym.records import (
    Action,
    Decision,
    Generation,
    Observation,
    Step,
    TokenTrace,
    ToolSpec,
)
from agentgym.records.bounds import bounded_decision, flaw_of_decision
from agentgym.rollout.policy import releasing
from agentgym.train.datasets.dialogues import Interface, briefing_of
from agentgym.train.datasets.episodes import RecordedEpisode

T = TypeVar("T")

GAMMA: Final = 0.5
"""Discount a step, as in the paper."""
_FORMAT, _TYPE, _ACCURACY = 0.1, 0.4, 0.5

Matches = Callable[[Action, Action], bool]
"""Whether a call of the policy does what the expert's does; both have one tool."""


class Patch(StrEnum):
    """The thought that comes with a patched call."""

    THOUGHT_FREE = "thought-free"
    """None."""
    EXPERT = "expert"
    """The expert's, as it is recorded."""


@dataclass(frozen=True)
class ReplayedStep:
    """A step of a semi-online rollout.

    Attributes:
        decision: The policy's own, None if it made no usable call.
        failure: Why it made none, else empty.
        generations: What it sampled; None if that is not known.
        expert: The expert's call.
        matched: Whether the policy's call matches it.
        patched: Whether the expert's call stands in the history instead.
        reward: ``r_t``, 0..1.
        ret: ``R_t``.
    """

    decision: Decision | None
    failure: str
    generations: tuple[Generation, ...] | None
    expert: Action
    matched: bool
    patched: bool
    reward: float
    ret: float = 0.0


@dataclass(frozen=True)
class SemiOnlineRollout:
    """A rollout of a policy along an expert episode.

    Attributes:
        expert: The expert episode.
        number: Number of the rollout, counted from 0.
        steps: The steps that the policy decided; fewer than the expert's if the rollout ended
            early.
        history: The steps as the policy read them: its own, and the patched ones.
        finished: Whether it reached the end of the expert episode.
    """

    expert: RecordedEpisode
    number: int
    steps: tuple[ReplayedStep, ...]
    history: tuple[Step, ...]
    finished: bool

    @property
    def reward(self) -> float:
        """The sum of its rewards as a share of the largest sum of the expert episode, 0..1."""
        return sum(step.reward for step in self.steps) / max(len(self.expert.steps), 1)


def same_call(own: Action, expert: Action) -> bool:
    """Return whether two calls have equal arguments."""
    return codec.canonical(own.arguments) == codec.canonical(expert.arguments)


def step_reward(own: Action | None, expert: Action, matches: Matches = same_call) -> float:
    """Return ``r_t`` of a call; None is a reply without a usable call."""
    if own is None:
        return 0.0
    if own.tool != expert.tool:
        return _FORMAT
    return _FORMAT + _TYPE + (_ACCURACY if matches(own, expert) else 0.0)


def semi_online_returns(
    rewards: Sequence[float], matched: Sequence[bool], gamma: float = GAMMA
) -> list[float]:
    """Return ``R_t`` of each step of one rollout.

    Args:
        rewards: ``r_t``.
        matched: Whether the step matched the expert's.
        gamma: Discount a step, 0..1.

    Example:
        >>> semi_online_returns([1.0, 1.0, 0.1, 1.0], [True, True, False, True])
        [1.5, 1.0, 0.1, 1.0]
    """
    found, later = list[float](), 0.0
    for reward, right in zip(reversed(rewards), reversed(matched), strict=True):
        later = reward + gamma * later if right else 0.0
        found.append(later if right else reward)
    return found[::-1]


class SemiOnlineReplay:
    """Lets a policy act along expert episodes.

    Args:
        make_agent: Returns a new agent; one is made for each rollout, and after each patch, because
            an agent must take any history.
        patches: The patch threshold: divergences that are patched before a rollout ends; None: all.
        patch: The thought of a patched call.
        gamma: Discount a step.
        template: Encodes patched calls for a policy that samples token ids; None if it reads text.
        matches: Compares calls.
        timeout_s: Wall time of one decision.

    Raises:
        ValueError: A number is out of range.
    """

    def __init__(
        self,
        make_agent: Callable[[], Agent],
        *,
        patches: int | None = 1,
        patch: Patch = Patch.THOUGHT_FREE,
        gamma: float = GAMMA,
        template: EncodingTemplate | None = None,
        matches: Matches = same_call,
        timeout_s: float = 600.0,
    ) -> None:
        if not 0 <= gamma <= 1 or timeout_s <= 0 or (patches is not None and patches < 0):
            raise ValueError("gamma, timeout_s or patches is out of range")
        self._make_agent, self._patches, self._patch = make_agent, patches, patch
        self._gamma, self._template, self._matches = gamma, template, matches
        self._timeout_s = timeout_s

    async def rollout(
        self, expert: RecordedEpisode, interface: Interface, number: int, seed: int = 0
    ) -> SemiOnlineRollout:
        """Let the policy act along one expert episode.

        Args:
            expert: The expert episode.
            interface: The tools of its task.
            number: Number of the rollout; a seeded agent acts differently in each.
            seed: Seed of all rollouts.

        Raises:
            AgentError: The policy could not be asked, through no fault of its own: the rollout is
                missing data.
        """
        told = f"{seed} {expert.digest} {number}"
        drawn = int.from_bytes(hashlib.sha256(told.encode()).digest()[:4])
        briefing = replace(briefing_of(expert, interface), seed=drawn)
        replayed, history = list[ReplayedStep](), list[Step]()
        going_on = True
        while going_on and len(history) < len(expert.steps):
            # After a patch, a new agent goes on from the patched history.
            agent = self._make_agent()
            async with releasing(agent):
                await self._asked(agent, partial(agent.start, briefing))
                going_on = await self._act(agent, expert, interface.tools, replayed, history)
        rewards = [step.reward for step in replayed]
        returns = semi_online_returns(rewards, [step.matched for step in replayed], self._gamma)
        steps = tuple(replace(s, ret=r) for s, r in zip(replayed, returns, strict=True))
        return SemiOnlineRollout(expert, number, steps, tuple(history), going_on)

    async def _act(
        self,
        agent: Agent,
        expert: RecordedEpisode,
        tools: Sequence[ToolSpec],
        replayed: list[ReplayedStep],
        history: list[Step],
    ) -> bool:
        """Act until a patch or the end; return False if the rollout ends at a divergence."""
        while (at := len(history)) < len(expert.steps):
            recorded = expert.steps[at]
            seen = history[-1].observation if history else expert.row.first or Observation("")
            step = await self._step(agent, seen, tools, history, recorded.action)
            spent = sum(one.patched for one in replayed)
            patched = not step.matched and (self._patches is None or spent < self._patches)
            replayed.append(replace(step, patched=patched))
            if not step.matched and not patched:
                return False
            decision = self._patched(recorded, step) if patched else step.decision
            assert decision is not None  # A step that matched has one.
            history.append(Step(at, decision, recorded.observation, 0.0, recorded.events))
            if patched:
                break
        return True

    async def _step(
        self,
        agent: Agent,
        seen: Observation,
        tools: Sequence[ToolSpec],
        history: Sequence[Step],
        expert: Action,
    ) -> ReplayedStep:
        """Ask the policy for its call, and compare it with the expert's."""
        try:
            decision = bounded_decision(await self._decided(agent, seen, tools, tuple(history)))
        except PolicyError as error:
            known = error.generations if isinstance(error.generations, tuple) else None
            return ReplayedStep(None, str(error), known, expert, False, False, 0.0)
        own, made = decision.action, decision.generations
        matched = own.tool == expert.tool and self._matches(own, expert)
        reward = round(step_reward(own, expert, self._matches), 6)
        return ReplayedStep(decision, "", made, expert, matched, False, reward)

    async def _decided(
        self,
        agent: Agent,
        seen: Observation,
        tools: Sequence[ToolSpec],
        history: tuple[Step, ...],
    ) -> Decision:
        found = await self._asked(agent, partial(agent.act, seen, tools, history))
        if not isinstance(found, Decision):
            raise PolicyError(f"act() must return a Decision, not {type(found).__name__}")
        if flaw := flaw_of_decision(found):
            raise PolicyError(f"act() returned a Decision that cannot be used: {flaw}")
        return found

    async def _asked(self, agent: Agent, call: Callable[[], Awaitable[T]]) -> T:
        """Await an agent, and classify its failure.

        Raises:
            PolicyError: The policy failed.
            AgentError: It cannot be asked, or it did not answer in time.
        """
        try:
            async with asyncio.timeout(self._timeout_s) as scope:
                return await call()
        except asyncio.CancelledError as error:
            # An agent may raise this itself; only the caller of the replay may end it so.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise blame(error, agent) from error
        except BaseException as error:  # an agent may raise anything, such as a panic in Rust
            pass_interruptions(error)
            if scope.expired():
                raise AgentError(f"no answer within {self._timeout_s:g} s") from error
            raise blame(error, agent) from error

    def _patched(self, recorded: Step, step: ReplayedStep) -> Decision:
        """Return the expert's decision as the policy's history holds it."""
        thought = recorded.decision.thought if self._patch is Patch.EXPERT else ""
        decision = Decision(recorded.action, thought)
        if self._template is None:
            return decision
        last = (step.generations or (None,))[-1]
        if last is None or last.tokens.prompt_ids is None:
            raise AgentError("a policy without token ids needs no template to patch its history")
        try:
            ids = np.array(self._template.encode(recorded.action), np.int32)
        except ValueError as error:
            raise AgentError(f"the expert's call cannot be patched: {error}") from None
        # The policy did not sample these tokens, so no loss counts them.
        trace = TokenTrace(last.tokens.prompt_ids, ids, None, np.zeros(len(ids), np.bool_))
        return replace(decision, generations=(Generation(trace, "stop"),))
