"""Groups of episodes for training: attempts at one task with one seed, many groups at a time.

An episode without a score (a dead sandbox, a broken check) is missing data: it is left out of its
group and never becomes a reward of 0. A group in which all rewards are equal teaches nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentgym.env.environment import Environment
from agentgym.records import Step
from agentgym.rollout.run import run_episode
from agentgym.train.policy import TokenPolicy
from agentgym.train.samples import EpisodeTokens, episode_tokens


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
        task: Task id.
        seed: Seed of the episodes.
        trajectories: At least none: only those with a score.
        missing: Why each of the other attempts has no score.
    """

    task: str
    seed: int
    trajectories: tuple[Trajectory, ...]
    missing: tuple[str, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether two of its rewards differ."""
        return len({trajectory.reward for trajectory in self.trajectories}) > 1


class Rollouts:
    """Plays groups of episodes, a bounded number of episodes at a time.

    Args:
        environments: By task id.
        make_policy: Returns a policy for an attempt, given the attempt's own seed.
        jobs: Largest number of live episodes.
    """

    def __init__(
        self,
        environments: dict[str, Environment],
        make_policy: Callable[[int], TokenPolicy],
        *,
        jobs: int,
    ) -> None:
        self._environments, self._make_policy = environments, make_policy
        self._slots = asyncio.Semaphore(jobs)

    async def group(self, task: str, seed: int, size: int, *, salt: int) -> Group:
        """Play `size` attempts at one task with one seed.

        Args:
            task: Task id.
            seed: Seed of the episodes.
            size: Number of attempts.
            salt: Attempts with another salt draw other tokens.
        """
        attempts = [self._attempt(task, seed, salt * size + number) for number in range(size)]
        played = await asyncio.gather(*attempts)
        scored = tuple(each for each in played if isinstance(each, Trajectory))
        return Group(task, seed, scored, tuple(each for each in played if isinstance(each, str)))

    async def _attempt(self, task: str, seed: int, draws: int) -> Trajectory | str:
        """Return the trajectory, or why it has no score."""
        steps: list[Step] = []
        async with self._slots:
            result = await run_episode(
                self._environments[task],
                self._make_policy(draws),
                seed=seed,
                store=None,
                episode_id=None,
                on_step=steps.append,
            )
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
