"""Episodes a minute that the workers of a trainer play, by their number; see `bench.cluster`.

The policy is a tiny transformer with random weights. It samples without a wait, so the processors
of the machine bound the throughput.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from agentgym.bench.pool import STEPS_TASK
from agentgym.cluster.place import Place
from agentgym.cluster.ray_workers import share, start_worker
from agentgym.cluster.workers import Workers
from agentgym.errors import SandboxError
from agentgym.train.cluster_player import ClusterPlayer, rollout_role
from agentgym.train.config import EvaluationConfig, RolloutConfig, TrainConfig
from agentgym.train.loading import load_policy
from agentgym.train.policies import TinyPolicy
from agentgym.train.rollout_work import Attempt, PlayedAttempt
from agentgym.train.rollouts import Assignment

_POLICY: Final = TinyPolicy(actions={"count": "echo 1 >> /srv/log", "look": "cat /srv/log"})
_NUMBER: Final = 1_000_000
"""Number of the group that fills the caches of the workers."""


async def rollout_rate(workers: int, each: int, rounds: int, place: Place) -> float:
    """Return the episodes a minute of a number of workers; a cluster is connected.

    Args:
        workers: The number.
        each: Episodes that each plays at a time.
        rounds: Episodes that are measured for each place of a worker.
        place: What a worker asks for.

    Raises:
        SandboxError: An episode has no score, or no worker could be started.
    """
    jobs = workers * each
    config = TrainConfig(
        schema_version="agentgym.train/1",
        tasks=(STEPS_TASK,),
        policy=_POLICY,
        rollouts=RolloutConfig(jobs=jobs),
        evaluation=EvaluationConfig(seeds=(0,)),
    )
    role = rollout_role(config, each, None)
    started = Workers[Attempt, PlayedAttempt](
        lambda: start_worker(role, place, each), workers=workers, jobs=each
    )
    model = load_policy(config.policy, seed=config.seed).module
    try:
        while started.live < workers and not started.statistics.faults:
            await asyncio.sleep(0.05)
        player = ClusterPlayer(model, started, share, jobs=jobs, store=None)
        await player.update(0, lambda: None)
        await player.group(Assignment(_NUMBER, STEPS_TASK, 0, jobs))
        began_s = time.perf_counter()
        group = await player.group(Assignment(0, STEPS_TASK, 0, jobs * rounds))
        spent_s = time.perf_counter() - began_s
    finally:
        await started.close()
    if group.missing:
        raise SandboxError(f"bench: an episode has no score: {group.missing[0]}")
    return 60 * len(group.trajectories) / spent_s
