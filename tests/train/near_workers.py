"""Workers in this process that die when they are told to; weights reach them as bytes."""

from __future__ import annotations

import pickle
from collections import Counter
from contextlib import asynccontextmanager

from agentgym.cluster.workers import WorkerLostError, Workers
from agentgym.env.opening import load_built
from agentgym.train.cluster_player import ClusterPlayer
from agentgym.train.loading import load_policy
from agentgym.train.rollout_work import RolloutWork


class NearShared:
    """A worker reads a copy, as it does on a cluster."""

    def __init__(self, value):
        self._data = pickle.dumps(value)

    async def read(self):
        return pickle.loads(self._data)


class NearWorker:
    """Plays an attempt wholly before it dies, so that its result is lost."""

    def __init__(self, work, fleet):
        self._work, self._fleet = work, fleet

    async def do(self, attempt):
        fleet, key = self._fleet, (attempt.assignment.number, attempt.number)
        fleet.played[key] += 1
        played = await self._work.do(pickle.loads(pickle.dumps(attempt)))
        fleet.results.append(played)
        if fleet.dying[key]:
            fleet.dying[key] -= 1
            raise WorkerLostError("its node is gone")
        return fleet.spoil(pickle.loads(pickle.dumps(played)))

    async def close(self):
        await self._work.close()


class Fleet:
    """Workers of one run; `dying` counts how often each attempt takes its worker with it.

    `spoil` changes what the workers return.
    """

    def __init__(self, config, store=None, dying=(), jobs=4, spoil=lambda played: played):
        self.dying, self.played, self.results = Counter(dict(dying)), Counter(), []
        settings, self.spoil = None if store is None else dict(store.settings), spoil

        async def start():
            work = RolloutWork(config.model_dump_json(), 4, settings)
            await work.open()
            return NearWorker(work, self)

        self.workers = Workers(start, workers=2, jobs=jobs)


@asynccontextmanager
async def near_player(run, dying=(), store=None, jobs=4, spoil=lambda played: played):
    """Yield a player on two such workers, its fleet, its policy and its tasks.

    An attempt that kills its worker takes others with it, if the worker has several jobs.
    """
    config = run.config
    loaded = load_policy(config.policy, seed=config.seed)
    tasks = {name: load_built(name) for name in config.tasks}
    if config.rollouts.record and store is None:
        store = run.open_record([task.id for task in tasks.values()])
    fleet = Fleet(config, store, dying, jobs, spoil)
    told = (loaded.module, fleet.workers, NearShared)
    forks = config.rollouts.tree is not None
    player = ClusterPlayer(*told, jobs=config.rollouts.jobs, store=store, forks=forks)
    try:
        yield player, fleet, loaded, tasks
    finally:
        await fleet.workers.close()
        if store is not None:
            store.close()
