"""`agentgym bench cluster`: episodes a minute by the number of workers on a Ray cluster.

The cluster is this machine alone. The agent thinks for some time before each of its four commands,
as a model does, so that workers add throughput until the processors of the machine are busy. Each
worker plays several episodes at a time in real sandboxes; its start is not measured. Where PyTorch
is installed, the rollouts of a trainer are measured too.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from agentgym.bench.pool import STEPS_TASK, steps_task
from agentgym.cluster.place import Place, Role
from agentgym.cluster.ray_workers import LOCAL, connected, start_worker
from agentgym.cluster.workers import Workers
from agentgym.errors import SandboxError
from agentgym.eval.evaluate import run_all
from agentgym.eval.progress import LineProgress
from agentgym.eval.remote import EpisodeWork, Played, RemoteEpisodes
from agentgym.eval.settings import Settings
from agentgym.record.store import EpisodePlan, RunStore

WORKERS: Final = (1, 2, 4)
EACH: Final = 4
"""Episodes that a worker plays at a time."""

_THINK_S: Final = 0.5
_SHARE: Final = Place(cpus=0.05)
"""So small that a machine of any size has room for all workers."""

_AGENT: Final = """
import asyncio


class Thinking:
    name = "thinking"

    async def act(self, observation, tools, history):
        await asyncio.sleep({think_s})
        if len(history) == 4:
            return {{"tool": "submit", "arguments": {{}}}}
        command = f"echo {{len(history) + 1}} >> /srv/log"
        return {{"tool": "bash", "arguments": {{"command": command}}}}
"""


@dataclass(frozen=True, slots=True)
class ClusterRate:
    """One number of workers.

    Attributes:
        workers: Number of workers.
        per_minute: Episodes a minute.
        late: Time of an episode over the time that its agent thinks.
    """

    workers: int
    per_minute: float
    late: float


@dataclass
class ClusterRates:
    """The rates by number of workers.

    Attributes:
        all: Those of an evaluation.
        rollouts: Those of a trainer, in episodes a minute.
    """

    all: list[ClusterRate] = field(default_factory=list)
    rollouts: dict[int, float] = field(default_factory=dict)

    def flat(self) -> dict[str, float | str]:
        """Return the flat JSON object."""
        found: dict[str, float | str] = {}
        for one in self.all:
            found[f"workers{one.workers}.episodes_per_min"] = round(one.per_minute, 1)
            found[f"workers{one.workers}.gain"] = round(self._gain(one), 3)
            found[f"workers{one.workers}.late"] = round(one.late, 3)
        for workers, rate in self.rollouts.items():
            found[f"rollouts.workers{workers}.episodes_per_min"] = round(rate, 1)
        return found

    def show(self, console: Console) -> None:
        """Print the table."""
        table = Table("workers", box=None, pad_edge=False, header_style="dim")
        for heading in ("episodes", "throughput", "gain", "an episode takes"):
            table.add_column(heading, justify="right")
        for one in self.all:
            rate, late = f"{one.per_minute:.0f} / min", f"{one.late:.2f} x its thinking"
            gain = f"{self._gain(one):.2f} x"
            table.add_row(str(one.workers), f"{one.workers * EACH} live", rate, gain, late)
        console.print(table)
        for workers, per_minute in self.rollouts.items():
            console.print(
                f"rollouts of a trainer, {workers} workers: {per_minute:.0f} / min; its policy "
                "thinks no time",
            )
        console.print(
            f"All workers share the {len(os.sched_getaffinity(0))} processors of this machine; "
            f"an agent thinks {_THINK_S:g} s a step.",
            style="dim",
        )

    def _gain(self, one: ClusterRate) -> float:
        return one.per_minute / self.all[0].per_minute


async def measure_cluster(quick: bool) -> ClusterRates:
    """Play episodes with each number of workers.

    Args:
        quick: Whether to play fewer of them.

    Raises:
        ConfigError: Ray cannot be started.
        SandboxError: An episode did not pass.
    """
    measured = ClusterRates()
    with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as name, steps_task(Path(name)):
        agent = Path(name, "thinking.py")
        agent.write_text(_AGENT.format(think_s=_THINK_S))
        async with connected(LOCAL):
            for count in WORKERS:
                rounds = 2 if quick else 6
                measured.all.append(await _rate(Path(name), f"{agent}:Thinking", count, rounds))
            if find_spec("torch") is not None:
                from agentgym.bench.cluster_rollouts import rollout_rate

                for count in WORKERS:
                    rate = await rollout_rate(count, EACH, 5 if quick else 40, _SHARE)
                    measured.rollouts[count] = rate
    return measured


async def _rate(folder: Path, agent: str, count: int, rounds: int) -> ClusterRate:
    settings = Settings((STEPS_TASK,), (agent,), jobs=EACH)
    role = Role(EpisodeWork.__module__, EpisodeWork.__name__, (asdict(settings), EACH))
    workers = Workers[EpisodePlan, Played](
        lambda: start_worker(role, _SHARE, EACH), workers=count, jobs=EACH
    )
    try:
        while workers.live < count and not workers.statistics.faults:
            await asyncio.sleep(0.05)
        await _play(folder, agent, workers, count * EACH)  # fills the caches of each worker
        episodes = count * EACH * rounds
        spent_s = await _play(folder, agent, workers, episodes)
    finally:
        await workers.close()
    return ClusterRate(count, 60 * episodes / spent_s, spent_s / rounds / (5 * _THINK_S))


async def _play(
    folder: Path, agent: str, workers: Workers[EpisodePlan, Played], episodes: int
) -> float:
    """Play episodes and return the time they took."""
    plans = [EpisodePlan(STEPS_TASK, 0, trial, agent) for trial in range(episodes)]
    with tempfile.TemporaryDirectory(dir=folder) as run, open(os.devnull, "w") as nowhere:
        store = RunStore.create(Path(run) / "run", {}, plans)
        progress = LineProgress(Console(file=nowhere))
        try:
            started_s = time.perf_counter()
            play = RemoteEpisodes(store, workers).run
            await run_all(store.episodes(), play, jobs=episodes, progress=progress)
            spent_s = time.perf_counter() - started_s
            failed = [row for row in store.episodes() if not (row.verdict and row.verdict.outcome)]
        finally:
            store.close()
    if failed:
        told = failed[0].error or failed[0].verdict
        raise SandboxError(f"bench: an episode did not pass: {told}")
    return spent_s
