"""The work of a worker that plays rollouts: it has a policy and sandboxes of its own.

An attempt of a group brings the weights that it is to be sampled with. A worker reads them once
for each version. If newer ones come with another attempt, the episodes that it plays go on with
these, as they do where one process plays and learns; each completion holds the version that sampled
it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentgym.cluster.shared import Shared
from agentgym.env.environment import Environment
from agentgym.env.recording import end_abandoned
from agentgym.record.store import RunStore
from agentgym.records import Json
from agentgym.rollout.handover import pack
from agentgym.scratch import scratch_folder
from agentgym.threads import to_thread
from agentgym.train.config import TrainConfig
from agentgym.train.loading import load_policy
from agentgym.train.players import open_environments, policy_maker, step_rewards
from agentgym.train.rollouts import Assignment, Group, Rollouts
from agentgym.train.sampling.sampler import Sampler

FIRST: Final = 1
"""Number of an attempt in the run of its worker; its forks come after it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a policy.

    Attributes:
        version: Their version.
        values: The tensors by name.
    """

    version: int
    values: Shared[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to play.

    Attributes:
        assignment: The group that it belongs to.
        number: Its number in the group.
        weights: The newest weights.
        measures: Whether it measures the policy, and is not learnt from.
    """

    assignment: Assignment
    number: int
    weights: Weights
    measures: bool = False


@dataclass(frozen=True, slots=True)
class PlayedAttempt:
    """The result of an attempt.

    Attributes:
        part: What it adds to its group.
        busy_s: Wall time of its episodes in seconds.
        failures: How often a step grader could not judge.
        archive: The folder of its record; empty if it is not recorded.
    """

    part: Group
    busy_s: float
    failures: int
    archive: bytes = b""


class RolloutWork:
    """See the module.

    Args:
        config: The configuration of the run, as JSON.
        jobs: Largest number of episodes at a time.
        settings: Settings of the record; None: nothing is recorded.
    """

    def __init__(self, config: str, jobs: int, settings: Mapping[str, Json] | None) -> None:
        self._config = TrainConfig.model_validate_json(config)
        self._jobs, self._settings = jobs, settings
        self._closing = AsyncExitStack()
        self._environments: dict[str, Environment] = {}
        self._updating = asyncio.Lock()

    async def open(self) -> None:
        """Open the environments, and load the policy."""
        config = self._config
        self._loaded = await to_thread(lambda: load_policy(config.policy, seed=config.seed))
        self._sampler = Sampler(
            self._loaded.model, rows=self._jobs, batch_invariant=config.policy.batch_invariant
        )
        self._closing.push_async_callback(self._sampler.close)
        self._sampler.version = -1  # Until the first weights came.
        opening = open_environments(config)
        self._environments = await self._closing.enter_async_context(opening)

    async def do(self, attempt: Attempt) -> PlayedAttempt:
        """Play an attempt."""
        await self._take(attempt.weights)
        if attempt.measures or self._settings is None:
            return await self._play(attempt, None)
        with scratch_folder("worker") as folder:
            store = RunStore.create(Path(folder, "run"), dict(self._settings), [])
            try:
                played = await self._play(attempt, store)
                await store.threads.finish(end_abandoned, store, lambda row: True)
            finally:
                store.close()
            archive = await to_thread(pack, store.folder)
        return PlayedAttempt(played.part, played.busy_s, played.failures, archive)

    async def close(self) -> None:
        """End what is being sampled, and all sandboxes."""
        await self._closing.aclose()

    async def _take(self, weights: Weights) -> None:
        """Sample with these weights from now on, unless there are newer ones."""
        async with self._updating:
            if weights.version <= self._sampler.version:
                return
            values = await weights.values.read()
            async with self._sampler.updating(weights.version):
                self._loaded.module.load_state_dict(values)

    async def _play(self, attempt: Attempt, store: RunStore | None) -> PlayedAttempt:
        rewards = None if attempt.measures else step_rewards(self._config)
        rollouts = Rollouts(
            *(self._environments, policy_maker(self._config, self._loaded, self._sampler)),
            jobs=1,
            tree=None if attempt.measures else self._config.rollouts.tree,
            store=store,
            step_rewards=rewards,
        )
        part = await rollouts.attempt(attempt.assignment, attempt.number)
        failures = 0 if rewards is None else rewards.take_failures()
        return PlayedAttempt(part, rollouts.busy_s, failures)
