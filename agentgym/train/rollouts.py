"""Groups of episodes for training: attempts at one task with one seed, many groups at a time.

An episode without a score (a dead sandbox, a broken check) is missing data: it is left out of its
group and never becomes a reward of 0. A group in which all rewards are equal teaches nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentgym.env.environment import Environment
from agentgym.records import Step
from agentgym.rollout.run import run_episode
from agentgym.train.policy import TokenPolicy
from agentgym.train.samples import EpisodeTokens, episode_tokens


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
        length: Number of completions.
    """

    reward: float
    tokens: EpisodeTokens
    states: tuple[str, ...]

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
    """

    assignment: Assignment
    trajectories: tuple[Trajectory, ...]
    missing: tuple[str, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether two of its rewards differ."""
        return len({trajectory.reward for trajectory in self.trajectories}) > 1

    @property
    def oldest(self) -> int:
        """The first version of the policy that sampled for it; 0 if none is known."""
        versions = [each.tokens.oldest for each in self.trajectories]
        return min((version for version in versions if version is not None), default=0)


class Rollouts:
    """Plays groups of episodes, a bounded number of episodes at a time.

    Args:
        environments: By task id.
        make_policy: Returns a policy for an attempt of a group, given its number in the group.
        jobs: Largest number of live episodes.

    Attributes:
        episodes: How many have ended.
        busy_s: Sum of their wall times in seconds, without the time they waited to begin.
    """

    def __init__(
        self,
        environments: dict[str, Environment],
        make_policy: Callable[[Assignment, int], TokenPolicy],
        *,
        jobs: int,
    ) -> None:
        self._environments, self._make_policy = environments, make_policy
        self._slots = asyncio.Semaphore(jobs)
        self.episodes, self.busy_s = 0, 0.0

    async def group(self, assignment: Assignment) -> Group:
        """Play the attempts of a group."""
        played = await asyncio.gather(
            *(self._attempt(assignment, attempt) for attempt in range(assignment.size))
        )
        scored = tuple(each for each in played if isinstance(each, Trajectory))
        missing = tuple(each for each in played if isinstance(each, str))
        return Group(assignment, scored, missing)

    async def _attempt(self, assignment: Assignment, attempt: int) -> Trajectory | str:
        """Return the trajectory, or why it has no score."""
        steps: list[Step] = []
        async with self._slots:
            began_s = time.monotonic()
            result = await run_episode(
                self._environments[assignment.task],
                self._make_policy(assignment, attempt),
                seed=assignment.seed,
                store=None,
                episode_id=None,
                on_step=steps.append,
            )
            self.busy_s += time.monotonic() - began_s
            self.episodes += 1
        if not result.verdict.scored:
            return f"{result.verdict.status}: {result.error}"
        completions = [each for step in steps for each in step.decision.generations or ()]
        completions += result.refused or ()
        tokens = episode_tokens(enumerate(completions))
        return Trajectory(result.verdict.score, tokens, _states(steps, len(completions)))


def _states(steps: Sequence[Step], completions: int) -> tuple[str, ...]:
    """Return a digest of what was done and seen before each completion."""
    digest, found = hashlib.sha256(), []
    for step in steps:
        found += [digest.hexdigest()[:16]] * len(step.decision.generations or ())
        digest.update(repr((step.action, step.observation.text)).encode())
    found += [digest.hexdigest()[:16]] * (completions - len(found))
    return tuple(found)
