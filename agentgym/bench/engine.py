"""Measures the engine's own time in steps and episodes, and the recorder's share.

A step runs over a real sandbox and is timed twice: the whole step, and the wait for the surface.
The difference is the engine's. The recorder is timed separately in the same loop.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agentgym.agents.registry import create
from agentgym.bench.series import Figures
from agentgym.env.environment import Environment
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Step
from agentgym.rollout.run import run_episode
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.guest import BubblewrapSandbox
from agentgym.surfaces.shell import ShellKind, ShellSurface
from agentgym.task.load import load_task
from agentgym.task.model import Task

_FILES = {
    "task.toml": 'schema_version = "agentgym.task/1"\nid = "bench/trivial-v1"\n'
    'title = "Nothing to do"\ndifficulty = "easy"\nenv = "terminal"\nmax_steps = 100000\n',
    "instruction.md": "Submit.\n",
    "solution/solve.sh": "true\n",
    "checks/rubric.toml": 'schema_version = "agentgym.rubric/1"\n[[checkpoint]]\nid = "passwd"\n'
    'use = "files.exists"\nwith = { path = "/etc/passwd" }\n',
}


class _Outside:
    """Seconds spent outside the engine: in calls of sandboxes, providers and surfaces."""

    def __init__(self) -> None:
        self._spent_s = 0.0
        self._depth = 0
        self._restore: list[tuple[object, str, object]] = []

    def watch(self, owner: object, *names: str) -> None:
        """Count the time of coroutine methods, of an object or of all objects of a class."""
        for name in names:
            original = getattr(owner, name)
            self._restore.append((owner, name, original))
            setattr(owner, name, self._timed(original))

    def _timed(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def timed(*args: object, **kwargs: object) -> object:
            started = time.perf_counter()
            self._depth += 1
            try:
                return await call(*args, **kwargs)
            finally:
                self._depth -= 1
                # A call inside a watched call is counted with that one.
                if self._depth == 0:
                    self._spent_s += time.perf_counter() - started

        return timed

    def take(self) -> float:
        """Return the seconds since the last call."""
        spent, self._spent_s = self._spent_s, 0.0
        return spent

    def stop(self) -> None:
        """Put the original methods back."""
        for owner, name, original in self._restore:
            setattr(owner, name, original)


async def measure_engine(
    figures: Figures, provider: BubblewrapProvider, folder: Path, steps: int
) -> None:
    """Fill ``engine.step_ms.p50``, ``engine.episode_ms.p50`` and ``recorder.step_share``.

    Args:
        figures: Receives the samples.
        provider: A provider that this measurement may wrap.
        folder: An empty folder for the task and the run.
        steps: Number of steps to measure; it measures a tenth as many episodes.
    """
    task = trivial_task(folder)
    outside = _Outside()
    environment = Environment(task, provider)
    outside.watch(ShellKind, "attach")
    outside.watch(ShellSurface, "call", "close")
    outside.watch(provider, "start", "find", "keep", "compare", "discard", "open_tree")
    outside.watch(BubblewrapSandbox, "processes", "seal", "close")
    plans = [EpisodePlan(task.id, 0, trial, "noop") for trial in range(steps // 10 + 1)]
    store = RunStore.create(folder / "run", {}, plans)
    try:
        await _steps(figures, environment, store, outside, steps)
        for episode_id in range(2, len(plans) + 1):
            await _episode(figures, environment, store, outside, episode_id)
    finally:
        outside.stop()
        store.close()
        await environment.close()


def trivial_task(folder: Path) -> Task:
    """Write a task that asks for nothing, and load it."""
    root = folder / "bench" / "trivial"
    for name, text in _FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return load_task(root)


async def _steps(
    figures: Figures, environment: Environment, store: RunStore, outside: _Outside, count: int
) -> None:
    episode = await environment.start(0)
    recorder = store.begin(
        1, params={}, instruction="", sandbox="bubblewrap", reset_s=0.0, first=episode.first
    )
    recording, whole = 0.0, 0.0
    action = Action("bash", {"command": "echo $((41 + 1)); /bin/true"})
    outside.take()
    for _ in range(count):
        started = time.perf_counter()
        await episode.step(action)
        before = time.perf_counter()
        step: Step = episode.steps[-1]
        recorder.step(step)
        ended = time.perf_counter()
        recording += ended - before
        whole += ended - started
        figures["engine.step_ms.p50"].samples.append((ended - started - outside.take()) * 1e3)
    await episode.close()
    figures["recorder.step_share"].samples.append(100 * recording / whole)


async def _episode(
    figures: Figures, environment: Environment, store: RunStore, outside: _Outside, episode_id: int
) -> None:
    outside.take()
    started = time.perf_counter()
    result = await run_episode(
        environment, create("noop"), seed=0, store=store, episode_id=episode_id
    )
    spent = time.perf_counter() - started - outside.take()
    if not result.verdict.scored:
        raise RuntimeError(f"bench: the trivial episode was not scored: {result.error}")
    figures["engine.episode_ms.p50"].samples.append(spent * 1e3)
