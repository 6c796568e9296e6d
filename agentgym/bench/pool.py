"""`agentgym bench pool`: episodes a minute by number of jobs, and where their time goes.

It runs whole evaluations of a small task with a scripted agent, alternately without and with a
pool. The agent needs no time to think, so the machine and the engine are measured. The bottleneck
is the loop's thread, the processors, or the phase that waits longest.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from agentgym import plugins
from agentgym.bench.processor import LoopWatch, family_s
from agentgym.bench.spans import Spans
from agentgym.env import ending, resources
from agentgym.env.episode import Episode
from agentgym.env.keeping import StateKeeping
from agentgym.env.recording import EpisodeRecording
from agentgym.errors import SandboxError
from agentgym.eval import episodes as evaluated
from agentgym.eval.evaluate import evaluate
from agentgym.eval.progress import LineProgress
from agentgym.eval.settings import Settings
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.sandbox.pool import PooledProvider
from agentgym.sandbox.watchdog import WatchedSandbox
from agentgym.surfaces.shell import ShellKind, ShellSurface

JOBS = (1, 4, 16, 64, 256)
QUICK_JOBS = (1, 4, 16)
_BUSY = 0.85
"""Share of the time from which on something counts as the bottleneck."""
_LATE_SHARE = 0.99
_MEASURE_S = 4.0
_QUICK_S = 0.7
STEPS_TASK = "bench/steps-v1"
_FILES = {
    "task.toml": f'schema_version = "agentgym.task/1"\nid = "{STEPS_TASK}"\n'
    'title = "Four commands"\ndifficulty = "easy"\nenv = "terminal"\nmax_steps = 10\n',
    "instruction.md": "Count to four in /srv/log.\n",
    "setup/setup.sh": "echo 0 > /srv/log\n",
    "solution/solve.sh": "seq 4 >> /srv/log\n",
    "checks/rubric.toml": 'schema_version = "agentgym.rubric/1"\n[[checkpoint]]\nid = "log"\n'
    'use = "files.text_equals"\nwith = { path = "/srv/log", text = "0\\n1\\n2\\n3\\n4" }\n',
}
PHASES = (
    *("prepare", "hand-out", "open shell", "steps", "audit", "seal", "compare", "grade"),
    *("keep", "record", "close", "engine"),
)


@dataclass(frozen=True, slots=True)
class Throughput:
    """One evaluation.

    Attributes:
        jobs: Number of concurrent episodes.
        pool: Size of the pool; 0 without a pool.
        episodes: Number of episodes.
        wall_s: Wall time of all episodes, in seconds.
        cpu_s: Processor time of all episodes, in seconds: of this process and of every process
            that it started, sandboxes and workers included.
        hits: Share of sandboxes that were ready when they were requested.
        machine_share: Share of the wall time in which this machine's processors were busy, also
            with other programs.
        loop_share: Share of the wall time in which the event loop's thread used a processor.
        loop_late_ms: Lateness of the loop's timers, 99th percentile, in milliseconds.
        share: Phase to its share of the episodes' time; the shares add up to 1.
    """

    jobs: int
    pool: int
    episodes: int
    wall_s: float
    cpu_s: float
    hits: float
    machine_share: float
    loop_share: float
    loop_late_ms: float
    share: dict[str, float]

    @property
    def per_minute(self) -> float:
        """Episodes a minute."""
        return 60 * self.episodes / self.wall_s

    @property
    def processor_share(self) -> float:
        """Share of this machine's processor time that the episodes used."""
        return self.cpu_s / self.wall_s / len(os.sched_getaffinity(0))

    @property
    def bottleneck(self) -> str:
        """The part that limits the rate."""
        if self.loop_share >= _BUSY:
            return "the event loop's thread"
        if self.machine_share >= _BUSY:
            shared = self.processor_share < _BUSY * self.machine_share
            return "the processors" + (", shared with other programs" if shared else "")
        phase = max(self.share, key=lambda name: self.share[name])
        return f"waiting, most of it in {phase!r}"

    @property
    def key(self) -> str:
        """Prefix of its keys in the JSON object."""
        return f"{'pool' if self.pool else 'no_pool'}.jobs{self.jobs}"


@dataclass
class Throughputs:
    """Throughputs measured with one provider."""

    provider: str
    all: list[Throughput] = field(default_factory=list)

    def flat(self) -> dict[str, float | str]:
        """Return the flat JSON object; keys without a provider are those with a pool."""
        found: dict[str, float | str] = {}
        for one in (one for one in self.all if one.pool):
            found[f"jobs{one.jobs}.episodes_per_min"] = round(one.per_minute, 1)
            found[f"jobs{one.jobs}.bottleneck"] = one.bottleneck
            found["episode.cpu_ms"] = round(1000 * one.cpu_s / one.episodes, 2)
        for one in self.all:
            key = f"{self.provider}.{one.key}"
            found[f"{key}.episodes_per_min"] = round(one.per_minute, 1)
            found[f"{key}.cpu_ms"] = round(1000 * one.cpu_s / one.episodes, 2)
            found[f"{key}.hits"] = round(one.hits, 4)
            found[f"{key}.machine_share"] = round(one.machine_share, 4)
            found[f"{key}.processor_share"] = round(one.processor_share, 4)
            found[f"{key}.loop_share"] = round(one.loop_share, 4)
            found[f"{key}.loop_late_ms"] = round(one.loop_late_ms, 2)
            found |= {f"{key}.share.{name}": round(s, 4) for name, s in one.share.items()}
        return found

    def show(self, console: Console) -> None:
        """Print episodes a minute, then the share of each phase with a pool."""
        pooled = {one.jobs: one for one in self.all if one.pool}
        table = Table("jobs", box=None, pad_edge=False, header_style="dim")
        for heading in ("no pool", "pool", "gain", "were ready", "processor"):
            table.add_column(heading, justify="right")
        for bare in (one for one in self.all if not one.pool):
            with_pool = pooled[bare.jobs]
            gain = f"{with_pool.per_minute / bare.per_minute:.2f} x"
            rates = (f"{one.per_minute:.0f} / min" for one in (bare, with_pool))
            cpu = f"{1000 * bare.cpu_s / bare.episodes:.0f} ms / episode"
            table.add_row(str(bare.jobs), *rates, gain, f"{with_pool.hits:.0%}", cpu)
        console.print(table)
        console.print(
            "The agent needs no time to think: a pool gains where a processor would be idle.",
            style="dim",
        )
        console.print("\nWhere an episode's time goes, with a pool, by jobs:")
        table = Table("", box=None, pad_edge=False, header_style="dim")
        for jobs in pooled:
            table.add_column(str(jobs), justify="right")
        for phase in PHASES:
            table.add_row(phase, *(f"{one.share[phase]:.0%}" for one in pooled.values()))
        console.print(table)
        console.print("\nProcessors and bottleneck, with a pool, by jobs:")
        table = Table("jobs", box=None, pad_edge=False, header_style="dim")
        for heading in ("machine", "episodes", "loop's thread", "loop is late by", "bottleneck"):
            is_name = heading == "bottleneck"
            table.add_column(heading, justify="left" if is_name else "right", no_wrap=is_name)
        for jobs, one in pooled.items():
            used = (one.machine_share, one.processor_share, one.loop_share)
            shares = (f"{share:.0%}" for share in used)
            table.add_row(str(jobs), *shares, f"{one.loop_late_ms:.0f} ms", one.bottleneck)
        console.print(table)


async def measure_pool(provider: str, jobs: Sequence[int], quick: bool) -> Throughputs:
    """Run evaluations, without and with a pool, for each number of jobs.

    Args:
        provider: Name of the sandbox provider.
        jobs: Numbers of concurrent episodes.
        quick: Whether to take seconds instead of minutes.

    Raises:
        SandboxError: The provider cannot run here.
    """
    problems = plugins.make_provider(provider).problems()
    if problems:
        raise SandboxError(f"bench: {problems[0].what}; {problems[0].fix}")
    measured, console = Throughputs(provider), Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as name, steps_task(Path(name)):
        folder = Path(name)
        # This compiles, fills caches, prepares the task, and tells how many episodes to measure.
        pace = await _evaluated(folder, provider, 1, 0, 4)
        for count in jobs:
            rate = max(pace.per_minute, *(one.per_minute for one in measured.all), 0) / 60
            episodes = max(4, count if quick else 2 * count, round(rate * _seconds(quick)))
            for pool in (0, count):
                kind = f"a pool of {pool}" if pool else "no pool"
                console.print(f"[dim]{count} jobs, {kind}: {episodes} episodes …[/dim]")
                measured.all.append(await _evaluated(folder, provider, count, pool, episodes))
    return measured


def _seconds(quick: bool) -> float:
    return _QUICK_S if quick else _MEASURE_S


@contextmanager
def steps_task(folder: Path) -> Iterator[None]:
    """Write the task to a folder where an evaluation finds it."""
    for name, text in _FILES.items():
        path = folder / "tasks/bench/steps" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    actions = [
        {"tool": "bash", "arguments": {"command": f"echo {k} >> /srv/log"}} for k in range(1, 5)
    ]
    (folder / "agent.jsonl").write_text("\n".join(map(json.dumps, actions)))
    before = os.environ.get("AGENTGYM_PATH")
    os.environ["AGENTGYM_PATH"] = os.pathsep.join(filter(None, (before, str(folder))))
    try:
        yield
    finally:
        del os.environ["AGENTGYM_PATH"]
        if before is not None:
            os.environ["AGENTGYM_PATH"] = before


async def _evaluated(
    folder: Path, provider: str, jobs: int, pool: int, episodes: int
) -> Throughput:
    agent = f"scripted:{folder / 'agent.jsonl'}"
    plans = [EpisodePlan(STEPS_TASK, trial, trial, agent) for trial in range(episodes)]
    with tempfile.TemporaryDirectory(dir=folder) as run, open(os.devnull, "w") as nowhere:
        store = RunStore.create(Path(run) / "run", {}, plans)
        spans, watch = _phases(), LoopWatch()
        started, used_s = time.perf_counter(), family_s()
        try:
            did = await evaluate(
                store,
                Settings((STEPS_TASK,), (agent,), sandbox=provider, jobs=jobs, pool=pool),
                progress=LineProgress(Console(file=nowhere)),
            )
            wall_s, cpu_s = time.perf_counter() - started, family_s() - used_s
            failed = [row for row in store.episodes() if not (row.verdict and row.verdict.outcome)]
        finally:
            watch.stop()
            spans.stop()
            store.close()
    if failed:
        raise SandboxError(
            f"bench: an episode did not pass: {failed[0].error or failed[0].verdict}"
        )
    total_s = sum(spans.spent_s.values())
    share = {phase: spans.spent_s[phase] / total_s for phase in PHASES}
    hits = did.hits / (did.hits + did.misses)
    late_ms = watch.late_ms(_LATE_SHARE)
    busy = watch.machine_share, watch.share
    return Throughput(jobs, pool, episodes, wall_s, cpu_s, hits, *busy, late_ms, share)


def _phases() -> Spans:
    """Watch the phases of an episode."""
    spans = Spans()
    spans.watch(evaluated, "run_episode", "engine", root=True)
    spans.watch(resources, "prepare", "prepare")
    spans.watch(ending, "grade", "grade")
    spans.watch(Episode, "_release", "close")
    spans.watch(PooledProvider, "start", "hand-out")
    spans.watch(PooledProvider, "compare", "compare")
    spans.watch(PooledProvider, "discard", "close")
    spans.watch(ShellKind, "attach", "open shell")
    spans.watch(ShellSurface, "call", "steps")
    spans.watch(WatchedSandbox, "audit", "audit")
    spans.watch(WatchedSandbox, "seal", "seal")
    spans.watch(EpisodeRecording, "begin note take_steps finish", "record")
    spans.watch(StateKeeping, "__call__", "keep")
    return spans
