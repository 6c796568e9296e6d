"""`agentgym bench verify`: the cost of judging and milestones, and the time to prove tasks sound.

The oracle solves every task once and its final state is judged several times. The time of commands
in clean rooms, as their supervisors measure it, is subtracted: the task's author determines it.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgym import catalogue
from agentgym.bench.authoring import TASK_CHECK, measure_task_check
from agentgym.bench.milestones import EVERY_STEP, measure_milestones
from agentgym.bench.series import Figure, Figures
from agentgym.env import ending
from agentgym.env.environment import Environment
from agentgym.errors import SandboxError
from agentgym.protocols import SandboxProvider
from agentgym.records import ExecResult, Verdict
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.load import load_task
from agentgym.task.model import Task
from agentgym.task.reference_actions import answered, oracle
from agentgym.verify.room import CleanRoom

SUITE = "terminal"
_GRADINGS = 5
_QUICK_GRADINGS = 2
_QUICK_TASKS = 6
_STEPS = 200
_QUICK_STEPS = 50


async def measure_verify(quick: bool) -> Figures:
    """Judge the bundled terminal tasks.

    Args:
        quick: Whether to do half a dozen tasks, fewer gradings of each, and no task check.

    Raises:
        SandboxError: This machine cannot run bubblewrap.
    """
    provider = BubblewrapProvider()
    problems = provider.problems()
    if problems:
        raise SandboxError(f"bench: {problems[0].what}; {problems[0].fix}")
    figures = Figures(
        Figure("grade_ms.p50", "grade an episode, without its commands", "ms", 60),
        Figure("grade_ms.max", "the same, slowest task", "ms"),
        Figure("grade_commands_ms.p50", "its commands in clean rooms", "ms"),
        replace(EVERY_STEP, samples=[]),
        replace(TASK_CHECK, samples=[]),
    )
    names = catalogue.match_tasks(SUITE)
    try:
        for name in names[: _QUICK_TASKS if quick else None]:
            task = load_task(catalogue.find("tasks", name))
            await _graded(figures, task, provider, _QUICK_GRADINGS if quick else _GRADINGS)
        steps = _QUICK_STEPS if quick else _STEPS
        with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as folder:
            await measure_milestones(figures, provider, Path(folder), steps)
    finally:
        await provider.close()
    figures["grade_ms.max"].samples = [max(figures["grade_ms.p50"].samples)]
    figures.notes.append("Each task counts once, with the median of its gradings.")
    if not quick:
        await measure_task_check(figures, (SUITE,))
    return figures


async def _graded(figures: Figures, task: Task, provider: SandboxProvider, times: int) -> None:
    """Add a task's medians to the figures."""
    ours = Figure(f"grade_ms.{task.folder.name}", f"  {task.folder.name}", "ms")
    commands = Figure("", "", "ms")
    async with Environment(task, provider) as environment:
        with _gradings(times, ours, commands):
            episode = await environment.start(0)
            for action in oracle(episode.instance):
                verdict = (await episode.step(answered(action, episode.steps))).verdict
    if verdict is None or not verdict.outcome:
        raise SandboxError(f"bench: the oracle of {task.id} did not pass: {verdict}")
    assert ours.value is not None and commands.value is not None
    figures["grade_ms.p50"].samples.append(ours.value)
    figures["grade_commands_ms.p50"].samples.append(commands.value)
    figures.all.append(ours)


@contextlib.contextmanager
def _gradings(times: int, ours: Figure, commands: Figure) -> Iterator[None]:
    """Time several judgements of an environment; the first one warms up."""
    grade, run = vars(ending)["grade"], CleanRoom.run
    spent_s = 0.0

    def timed_run(room: CleanRoom, *args: Any, **kwargs: Any) -> ExecResult:
        nonlocal spent_s
        result = run(room, *args, **kwargs)
        spent_s += result.duration_s
        return result

    async def timed_grade(*args: Any, **kwargs: Any) -> Verdict:
        nonlocal spent_s
        verdict: Verdict = await grade(*args, **kwargs)
        for _ in range(times):
            spent_s, started = 0.0, time.perf_counter()
            # A grading that was started early is used up, so each of these starts its own.
            verdict = await grade(*args, **{**kwargs, "start": None})
            whole_s = time.perf_counter() - started
            commands.samples.append(spent_s * 1e3)
            ours.samples.append((whole_s - spent_s) * 1e3)
        return verdict

    with contextlib.ExitStack() as undo:
        undo.callback(setattr, ending, "grade", grade)
        undo.callback(setattr, CleanRoom, "run", run)
        setattr(ending, "grade", timed_grade)  # noqa: B010 - mypy takes functions for fixed
        setattr(CleanRoom, "run", timed_run)  # noqa: B010
        yield
