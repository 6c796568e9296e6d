"""Players of rollouts: they play groups with the policy as it is, and take its new weights.

`LocalPlayer` samples in the process that learns. `agentgym.train.cluster_player` has the one that
plays on the workers of a cluster.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol, TypeVar

from torch import nn

from agentgym import plugins
from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.errors import ActionError, ConfigError
from agentgym.record.store import RunStore
from agentgym.records import Action
from agentgym.surfaces.calls import check_call
from agentgym.train.config import TrainConfig
from agentgym.train.engine import Surplus
from agentgym.train.loading import LoadedPolicy
from agentgym.train.policies import TinyPolicy
from agentgym.train.policy import TokenPolicy
from agentgym.train.rollouts import Assignment, Group, Rollouts
from agentgym.train.sampling.sampler import Sampler
from agentgym.train.step_rewards import StepRewards

T = TypeVar("T")


class Player(Protocol):
    """Plays groups of episodes, a bounded number of episodes at a time."""

    async def group(self, assignment: Assignment) -> Group:
        """Play a group to learn from; it is recorded if the run is."""
        ...

    def hold(self) -> None:
        """Let what is learnt from wait before its next completion; what measures goes on."""
        ...

    def go_on(self) -> None:
        """Let the episodes go on that wait."""
        ...

    async def measure(self, assignment: Assignment) -> Group:
        """Play a group that measures the policy: without forks, rewards of steps, or a record."""
        ...

    async def update(self, version: int, learn: Callable[[], T]) -> T:
        """Change the weights of the policy, and sample with the new ones from then on.

        Args:
            version: Version of the new weights.
            learn: Changes them; called in a thread.
        """
        ...

    def take_failures(self) -> int:
        """Return how often a step grader could not judge since the last time."""
        ...

    @property
    def busy_s(self) -> float:
        """Sum of the wall times of the episodes that were learnt from, in seconds."""
        ...

    async def close(self) -> None:
        """End what is being played and sampled."""
        ...


class LocalPlayer:
    """Plays in this process; see `Player`.

    Args:
        config: The configuration of the run.
        loaded: The policy that learns.
        environments: By task.
        store: Records what is learnt from, None: nothing is recorded.
    """

    def __init__(
        self,
        config: TrainConfig,
        loaded: LoadedPolicy,
        environments: dict[str, Environment],
        store: RunStore | None,
    ) -> None:
        self._model = loaded.module
        # Where rollouts go on while the policy learns, they sample from a copy of it.
        model = copy.deepcopy(loaded.model) if config.rollouts.staleness else loaded.model
        assert isinstance(model, nn.Module)
        self._sampled = model
        jobs = config.rollouts.jobs
        self._sampler = Sampler(model, rows=jobs, batch_invariant=config.policy.batch_invariant)
        self._going = asyncio.Event()
        self._going.set()
        self._step_rewards = step_rewards(config)
        self._rollouts = Rollouts(
            *(environments, policy_maker(config, loaded, self._sampler, self._going)),
            jobs=jobs,
            tree=config.rollouts.tree,
            store=store,
            step_rewards=self._step_rewards,
        )
        measures = policy_maker(config, loaded, self._sampler)
        self._measured = Rollouts(environments, measures, jobs=jobs)

    async def group(self, assignment: Assignment) -> Group:
        """Play a group to learn from."""
        return await self._rollouts.group(assignment)

    def hold(self) -> None:
        """Let what is learnt from wait before its next completion."""
        self._going.clear()

    def go_on(self) -> None:
        """Let the episodes go on that wait."""
        self._going.set()

    async def measure(self, assignment: Assignment) -> Group:
        """Play a group that measures the policy."""
        return await self._measured.group(assignment)

    async def update(self, version: int, learn: Callable[[], T]) -> T:
        """Change the weights of the policy."""
        if self._sampled is self._model:
            async with self._sampler.updating(version):
                return await asyncio.to_thread(learn)
        figures = await asyncio.to_thread(learn)
        async with self._sampler.updating(version):
            self._sampled.load_state_dict(self._model.state_dict())
        return figures

    def take_failures(self) -> int:
        """Return how often a step grader could not judge since the last time."""
        return 0 if self._step_rewards is None else self._step_rewards.take_failures()

    @property
    def busy_s(self) -> float:
        """Sum of the wall times of the episodes that were learnt from, in seconds."""
        return self._rollouts.busy_s

    async def close(self) -> None:
        """End what is being sampled."""
        await self._sampler.close()


def policy_maker(
    config: TrainConfig,
    loaded: LoadedPolicy,
    sampler: Sampler,
    going: asyncio.Event | None = None,
) -> Callable[[Assignment, str], TokenPolicy]:
    """Return what makes a policy for an attempt; its draws derive from the seed of the run.

    Args:
        config: The configuration of the run.
        loaded: The policy that learns.
        sampler: Samples for all attempts.
        going: The policies wait until it is set; None: they do not wait.
    """

    def make(assignment: Assignment, attempt: str) -> TokenPolicy:
        told = f"{config.seed} {assignment.number} {attempt}"
        return TokenPolicy(
            sampler,
            loaded.template,
            limit=loaded.completion_tokens,
            temperature=config.rollouts.temperature,
            seed=int.from_bytes(hashlib.sha256(told.encode()).digest()[:8]),
            pictures=loaded.pictures,
            going=going,
            suspend=config.rollouts.surplus is Surplus.SNAPSHOT,
        )

    return make


def step_rewards(config: TrainConfig) -> StepRewards | None:
    """Return the rewards of steps that a configuration asks for, None if it asks for none."""
    weights = config.algorithm.step_rewards
    return StepRewards(weights) if weights else None


@asynccontextmanager
async def open_environments(config: TrainConfig) -> AsyncIterator[dict[str, Environment]]:
    """Open the environments of a run, by task, and close them and their sandboxes.

    Raises:
        AgentGymError: A task or the sandbox provider is unknown or broken.
        ConfigError: An action of the policy is a legal call in none of the tasks.
    """
    async with AsyncExitStack() as closing:
        provider = plugins.make_provider(config.sandbox)
        closing.push_async_callback(provider.close)
        environments = {
            task: await closing.enter_async_context(Environment(load_built(task), provider))
            for task in config.tasks
        }
        if isinstance(config.policy, TinyPolicy):
            for word, call in config.policy.calls().items():
                _check_action(word, call, environments.values())
        yield environments


def _check_action(word: str, call: Action, environments: Iterable[Environment]) -> None:
    faults = []
    for environment in environments:
        try:
            check_call(call, environment.tools)
        except ActionError as error:
            faults.append(error)
        else:
            return
    raise ConfigError(f"policy.actions.{word}: {faults[0]}") from faults[0]
