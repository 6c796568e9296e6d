"""`agentgym bench cost`: the cost of an episode by family, and what many live episodes need.

The tasks of each bundled suite are played by three agents. The random agent and the one that does
nothing leave much the same work to the checks, so the difference of their costs is that of the
random agent's steps. The reference agent's episodes, less the cost of its steps, are the fixed cost
of an episode: its reset, its grading and its record.

An agent that takes T seconds to think about each of S steps keeps an episode alive for about S T
seconds, so N live episodes end N / (S T) times a second (Little's law) and need that many times the
processor time of one. docs/scale.md explains the model.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from agentgym import catalogue
from agentgym.bench.processor import family_mb, family_s
from agentgym.env.opening import open_environment
from agentgym.errors import SandboxError
from agentgym.eval.evaluate import evaluate
from agentgym.eval.progress import LineProgress
from agentgym.eval.settings import Settings
from agentgym.record.store import EpisodePlan, RunStore

SUITES = ("terminal", "tools")
_QUICK_TASKS = 6
_LIVE = 32
_QUICK_LIVE = 8
_THINK_S = 2.0
_STEPS = 30
_MANY = 100_000
_FURTHER = 3
"""Further episodes of each task in the longer of two runs."""


@dataclass(frozen=True, slots=True)
class FamilyCost:
    """The cost of the episodes of one suite, on the processor of this machine.

    Attributes:
        suite: Name of the suite.
        tasks: Number of tasks that were played.
        episode_ms: Processor time of an episode that passes, without its steps.
        step_ms: Processor time of a step.
        live_mb: Memory of a live episode, as proportional set size.
        record_kb: Size on disk of the record of an episode of the reference agent, final state
            included.
    """

    suite: str
    tasks: int
    episode_ms: float
    step_ms: float
    live_mb: float
    record_kb: float

    def cores(self, live: int, steps: int, think_s: float) -> float:
        """Return the processor cores that so many live episodes keep busy.

        Args:
            live: Number of live episodes.
            steps: Steps of an episode.
            think_s: Seconds from an observation to the next action.
        """
        cpu_s = (self.episode_ms + steps * self.step_ms) / 1000
        return live * cpu_s / (steps * think_s + cpu_s)

    def record_gb_per_hour(self, live: int, steps: int, think_s: float) -> float:
        """Return what the records of so many live episodes grow by, in GB an hour."""
        return live * 3600 / (steps * think_s) * self.record_kb / 1e6


@dataclass(frozen=True, slots=True)
class FamilyCosts:
    """The costs of several suites."""

    all: Sequence[FamilyCost]

    def flat(self) -> Mapping[str, float]:
        """Return the flat JSON object."""
        found: dict[str, float] = {}
        for one in self.all:
            found[f"{one.suite}.episode_cpu_ms"] = round(one.episode_ms, 3)
            found[f"{one.suite}.step_cpu_ms"] = round(one.step_ms, 3)
            found[f"{one.suite}.live_mb"] = round(one.live_mb, 3)
            found[f"{one.suite}.record_kb"] = round(one.record_kb, 1)
            found[f"{one.suite}.cores_for_100000"] = round(one.cores(_MANY, _STEPS, _THINK_S), 1)
        return found

    def show(self, console: Console) -> None:
        """Print the costs, and what 100,000 live episodes need."""
        table = Table("suite", box=None, pad_edge=False, header_style="dim")
        for heading in ("tasks", "episode", "step", "memory while live", "record"):
            table.add_column(heading, justify="right")
        for one in self.all:
            table.add_row(
                *(one.suite, str(one.tasks), f"{one.episode_ms:.0f} ms", f"{one.step_ms:.1f} ms"),
                *(f"{one.live_mb:.2f} MB", f"{one.record_kb:.0f} kB"),
            )
        console.print(table)
        shape = _MANY, _STEPS, _THINK_S
        console.print(
            f"\n{_MANY:,} live episodes of {_STEPS} steps, with {_THINK_S:g} s of thinking a step:"
        )
        table = Table("suite", box=None, pad_edge=False, header_style="dim")
        for heading in ("cores like these", "memory", "records"):
            table.add_column(heading, justify="right")
        for one in self.all:
            table.add_row(
                *(one.suite, f"{one.cores(*shape):,.0f}"),
                *(f"{_MANY * one.live_mb / 1024:,.0f} GB",),
                *(f"{one.record_gb_per_hour(*shape):,.0f} GB an hour",),
            )
        console.print(table)
        console.print("Times are processor time, sandboxes and workers included.", style="dim")


async def measure_cost(quick: bool) -> FamilyCosts:
    """Play the suites.

    Args:
        quick: Whether to play a few tasks of each suite.

    Raises:
        SandboxError: An episode has no score, or the reference agent does not pass.
    """
    console, found = Console(stderr=True), []
    for suite in SUITES:
        tasks = catalogue.match_tasks(suite)
        if quick:
            tasks = tasks[:: max(1, len(tasks) // _QUICK_TASKS)][:_QUICK_TASKS]
        console.print(f"[dim]{suite}: {len(tasks)} tasks …[/dim]")
        found.append(await measure_tasks(suite, tasks, _QUICK_LIVE if quick else _LIVE))
    return FamilyCosts(found)


async def measure_tasks(suite: str, tasks: Sequence[str], live: int) -> FamilyCost:
    """Play tasks of one suite.

    Args:
        suite: Name of the suite.
        tasks: Ids of its tasks.
        live: Number of live episodes by which memory is measured.

    Raises:
        SandboxError: An episode has no score, or the reference agent does not pass.
    """
    with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as folder:
        script = await _scripts(tasks, Path(folder))
        idle = await _further(dict.fromkeys(tasks, "noop"))
        busy = await _further(script)
    step_s = max(0.0, busy.cpu_s - idle.cpu_s) / max(1.0, busy.steps - idle.steps)
    passed = await _further(dict.fromkeys(tasks, "oracle"))
    episode_s = max(0.0, passed.cpu_s - passed.steps * step_s)
    live_mb = await _live_mb(tasks, live)
    costs = 1000 * episode_s, 1000 * step_s, live_mb, passed.bytes / 1e3
    return FamilyCost(suite, len(tasks), *costs)


async def _scripts(tasks: Sequence[str], folder: Path) -> dict[str, str]:
    """Return an agent by task that makes the calls of the random agent without drawing them."""
    agents = {}
    plans = _plans(dict.fromkeys(tasks, "random"), 1)
    with contextlib.closing(RunStore.create(folder / "random", {}, plans)) as store:
        await _evaluate(store, tasks, ["random"])
        for row in store.episodes():
            path = folder / f"{row.id}.jsonl"
            acted = [step.action for step in store.steps(row.id)]
            path.write_text("".join(json.dumps(asdict(action)) + "\n" for action in acted))
            agents[row.plan.task] = f"scripted:{path}"
    return agents


@dataclass(frozen=True, slots=True)
class _Played:
    """Processor time, steps and bytes on disk of episodes of one agent."""

    cpu_s: float
    steps: float
    bytes: float


async def _further(agents: Mapping[str, str]) -> _Played:
    """Return the means of an episode in a run that goes on for long.

    The difference of a long and a short run leaves out what a run costs once.
    """
    short, long = await _played(agents, 1), await _played(agents, 1 + _FURTHER)
    count = _FURTHER * len(agents)
    return _Played(
        max(0.0, long.cpu_s - short.cpu_s) / count,
        (long.steps - short.steps) / count,
        (long.bytes - short.bytes) / count,
    )


async def _played(agents: Mapping[str, str], trials: int) -> _Played:
    """Play each task with its agent."""
    with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as folder:
        plans = _plans(agents, trials)
        with contextlib.closing(RunStore.create(Path(folder) / "run", {}, plans)) as store:
            empty, used_s = _bytes_on_disk(store.folder), family_s()
            await _evaluate(store, list(agents), sorted(set(agents.values())))
            cpu_s, rows = family_s() - used_s, list(store.episodes())
        size = _bytes_on_disk(store.folder) - empty
    for row in rows:
        if row.verdict is None or row.verdict.status != "scored":
            raise SandboxError(f"bench: {row.plan.task} has no score: {row.error or row.verdict}")
        if row.plan.agent == "oracle" and not row.verdict.outcome:
            raise SandboxError(f"bench: the reference agent does not pass {row.plan.task}")
    return _Played(cpu_s, sum(row.steps for row in rows), size)


def _plans(agents: Mapping[str, str], trials: int) -> list[EpisodePlan]:
    return [
        EpisodePlan(task, 0, trial, agent)
        for trial in range(trials)
        for task, agent in agents.items()
    ]


async def _evaluate(store: RunStore, tasks: Sequence[str], agents: Sequence[str]) -> None:
    jobs = len(os.sched_getaffinity(0))
    settings = Settings(tuple(tasks), tuple(agents), jobs=jobs, pool=0)
    with open(os.devnull, "w") as nowhere:
        await evaluate(store, settings, progress=LineProgress(Console(file=nowhere)))


async def _live_mb(tasks: Sequence[str], live: int) -> float:
    """Return what each of so many live episodes adds to the memory of this process family."""
    chosen = tasks[len(tasks) // 2]
    async with contextlib.AsyncExitStack() as closing:
        environment = await closing.enter_async_context(open_environment(chosen))
        first = await environment.start(seed=0)
        closing.push_async_callback(first.close)
        before_mb = family_mb()
        episodes = await asyncio.gather(*(environment.start(seed=0) for _ in range(live)))
        for episode in episodes:
            closing.push_async_callback(episode.close)
        return (family_mb() - before_mb) / live


def _bytes_on_disk(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
