"""Plays rollouts on the workers of a cluster; the policy learns in this process.

An attempt of a group is a job for one worker. A job whose worker was lost is given to another one,
which draws the same tokens, and only the result that arrives counts: no episode is lost, and none
is learnt from twice. New weights are put on the cluster once and go out with the attempts that
begin later.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from torch import nn

from agentgym.cluster.place import ClusterOptions, Role
from agentgym.cluster.shared import Shared
from agentgym.cluster.workers import WorkerLostError, Workers
from agentgym.env.outcome import failed
from agentgym.env.recording import record_end
from agentgym.errors import UnsupportedError
from agentgym.record.store import RunStore
from agentgym.rollout.handover import merge
from agentgym.train.config import TrainConfig
from agentgym.train.rollout_work import FIRST, Attempt, PlayedAttempt, RolloutWork, Weights
from agentgym.train.rollouts import Assignment, Group, joined, plan_of
from agentgym.train.worker_results import check_played, check_scores

T = TypeVar("T")
Tensors = Mapping[str, Any]
Share = Callable[[Tensors], Shared[Tensors]]
"""Puts weights where workers can read them; may take a while."""


class ClusterPlayer:
    """Plays on workers; see `agentgym.train.players.Player`.

    Args:
        model: The policy that learns.
        workers: Workers that do `RolloutWork`.
        share: Puts weights where they can read them.
        jobs: Largest number of episodes at a time, on all workers.
        store: The record of what is learnt from, None: nothing is recorded.
        forks: Whether attempts are trees.

    Attributes:
        busy_s: Sum of the wall times of the episodes that were learnt from, in seconds.
    """

    def __init__(
        self,
        model: nn.Module,
        workers: Workers[Attempt, PlayedAttempt],
        share: Share,
        *,
        jobs: int,
        store: RunStore | None,
        forks: bool = False,
    ) -> None:
        self._model, self._workers, self._share, self._store = model, workers, share, store
        self._forks = forks
        self._weights: Weights | None = None
        self._slots, self._measuring = asyncio.Semaphore(jobs), asyncio.Semaphore(jobs)
        self.busy_s, self._failures = 0.0, 0

    async def group(self, assignment: Assignment) -> Group:
        """Play a group to learn from."""
        return await self._group(assignment, self._slots, measures=False)

    def hold(self) -> None:
        """Raise; a run on workers is refused before it begins if it asks for that.

        Raises:
            UnsupportedError: In any case.
        """
        raise UnsupportedError("episodes on workers cannot wait between two batches")

    def go_on(self) -> None:
        """Do nothing: no episode waits."""

    async def measure(self, assignment: Assignment) -> Group:
        """Play a group that measures the policy."""
        return await self._group(assignment, self._measuring, measures=True)

    async def update(self, version: int, learn: Callable[[], T]) -> T:
        """Change the weights of the policy, and send the new ones with later attempts."""
        figures = await asyncio.to_thread(learn)
        self._weights = Weights(version, await asyncio.to_thread(self._shared))
        return figures

    def take_failures(self) -> int:
        """Return how often a step grader could not judge since the last time."""
        failures, self._failures = self._failures, 0
        return failures

    async def close(self) -> None:
        """Do nothing: the workers belong to the caller."""

    def _shared(self) -> Shared[Tensors]:
        values = {name: each.detach().cpu() for name, each in self._model.state_dict().items()}
        return self._share(values)

    async def _group(
        self, assignment: Assignment, slots: asyncio.Semaphore, *, measures: bool
    ) -> Group:
        async def play(number: int) -> Group:
            async with slots:
                return await self._attempt(assignment, number, measures=measures)

        return joined(assignment, await asyncio.gather(*map(play, range(assignment.size))))

    async def _attempt(self, assignment: Assignment, number: int, *, measures: bool) -> Group:
        assert self._weights is not None, "the first update comes before the first group"
        attempt = Attempt(assignment, number, self._weights, measures)
        try:
            played = await self._workers.do(attempt)
        except WorkerLostError as error:
            if not measures:
                ending = failed(error)
                await self._record(
                    *(assignment, number),
                    lambda store, id: record_end(
                        *(store, store.episode(id), str(store.settings["sandbox"]), ending, 0.0)
                    ),
                )
            return Group(assignment, (), (f"error:{error.boundary}: {error}",))
        # Measurements and rollouts without forks have one trajectory, if it is not missing.
        forks = self._forks and not measures
        check_played(played, attempt, self._weights.version, forks=forks)
        self._failures += played.failures
        if measures:
            return played.part
        self.busy_s += played.busy_s

        def fill(store: RunStore, id: int) -> None:
            merged = merge(store, played.archive, {FIRST: id})
            check_scores(played.part, map(store.episode, merged))

        await self._record(assignment, number, fill)
        return played.part

    async def _record(
        self, assignment: Assignment, number: int, fill: Callable[[RunStore, int], None]
    ) -> None:
        """Add an attempt to the record, if there is one: wholly, or not at all."""
        if (store := self._store) is None:
            return

        def record() -> None:
            with store.transaction():
                fill(store, store.add(plan_of(assignment, number)))

        await store.threads.finish(record)


def rollout_role(config: TrainConfig, jobs: int, store: RunStore | None) -> Role:
    """Return the role of a worker that plays rollouts.

    Args:
        config: The configuration of the run.
        jobs: Largest number of episodes of the worker at a time.
        store: The record of what is learnt from, None: nothing is recorded.
    """
    settings = None if store is None else dict(store.settings)
    arguments = (config.model_dump_json(), jobs, settings)
    return Role(RolloutWork.__module__, RolloutWork.__name__, arguments)


@asynccontextmanager
async def open_cluster_player(
    config: TrainConfig,
    model: nn.Module,
    store: RunStore | None,
    options: ClusterOptions,
    tell: Callable[[str], None],
) -> AsyncIterator[ClusterPlayer]:
    """Connect to a Ray cluster and start workers for the time of a block.

    Args:
        config: The configuration of the run; ``rollouts.jobs`` episodes are live on all workers.
        model: The policy that learns.
        store: The record of what is learnt from, None: nothing is recorded.
        options: The cluster.
        tell: Called at the end with what went wrong with workers.

    Raises:
        ConfigError: There is no such cluster.
        MissingExtraError: Ray is not installed.
    """
    from agentgym.cluster.ray_workers import connected, share, start_worker

    each = math.ceil(config.rollouts.jobs / options.workers)
    role = rollout_role(config, each, store)
    async with connected(options.address):
        workers = Workers[Attempt, PlayedAttempt](
            lambda: start_worker(role, options.place, each), workers=options.workers, jobs=each
        )
        try:
            yield ClusterPlayer(
                *(model, workers, share),
                jobs=config.rollouts.jobs,
                store=store,
                forks=config.rollouts.tree is not None,
            )
        finally:
            await workers.close()
            for line in workers.statistics.told():
                tell(line)
