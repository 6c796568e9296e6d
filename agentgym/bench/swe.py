"""`agentgym bench swe`: resets, grading and storage of tasks over repositories, and mining.

The tests' own time is that of a plain `python3 -m pytest` over the same tests in a sandbox of the
same task, with the variables of a grading, so that neither finds compiled modules of an earlier
run. It runs after each grading, because a machine is faster at one time than at another. The rest
of a grading is its overhead: comparing the trees, starting the clean room, laying the patch over
it, the grader's own tests, reading the report.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from agentgym import catalogue
from agentgym.bench.mining import candidates_per_min
from agentgym.bench.series import Figure, Figures
from agentgym.env import ending
from agentgym.env.environment import Environment
from agentgym.errors import SandboxError
from agentgym.protocols import Sandbox, SandboxProvider
from agentgym.records import Action, Snapshot, Verdict
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.recipe import load_recipe
from agentgym.swe.native import Issue
from agentgym.swe.patch_tests import has_hidden_tests
from agentgym.swe.test_run import ENVIRONMENT
from agentgym.task.load import load_task
from agentgym.task.model import Task
from agentgym.task.reference_actions import answered, oracle
from agentgym.task.setup import prepare
from agentgym.verify import room

SUITE = "swe"
_RECIPE = "swe-python"
_RESETS = 10
_GRADINGS = 5
_LARGE_FILES = 20_000
_BLOCK_BYTES = 4096
_WRITE_LARGE = (
    "import os\n"
    "for i in range({files}):\n"
    "    os.makedirs(f'/srv/large/{{i // 100}}', exist_ok=True)\n"
    "    open(f'/srv/large/{{i // 100}}/{{i}}.py', 'w').write(f'# {{i}}\\n' * 400)\n"
)


async def measure_swe(quick: bool, tell: Callable[[str], None]) -> Figures:
    """Measure the bundled tasks of the suite `swe`.

    Args:
        quick: Whether to measure two tasks, fewer times each, and a smaller large repository.
        tell: Is told what is measured now.

    Raises:
        SandboxError: This machine cannot run bubblewrap, or a solution does not pass.
    """
    provider = BubblewrapProvider()
    problems = provider.problems()
    if problems:
        raise SandboxError(f"bench: {problems[0].what}; {problems[0].fix}")
    figures = Figures(
        Figure("reset_ms.p50", "reset of an installed repository", "ms", 30),
        Figure("reset_large_ms.p50", "the same, with 20,000 more files", "ms", 30),
        Figure("grade_overhead_ms.p50", "grading, without the tests' own time", "ms", 150),
        Figure("tests_ms.p50", "the tests' own time", "ms"),
        Figure("instance_mb", "storage of one more instance", "MB", 5),
        Figure("mine.candidates_per_min", "candidates that the miner tries", "1/min", 10, True),
    )
    try:
        for task in measured_tasks()[: 2 if quick else None]:
            tell(task.id)
            await _measure_task(figures, task, provider, 2 if quick else _GRADINGS)
        tell("a large repository")
        await _measure_large(figures, provider, _LARGE_FILES // (10 if quick else 1))
        tell("mining")
        rate = await candidates_per_min(provider, quick)
        figures["mine.candidates_per_min"].samples.append(rate)
    finally:
        await provider.close()
    figures.notes.append("Each task counts once, with the median of its resets and gradings.")
    return figures


def measured_tasks() -> list[Task]:
    """Return the tasks of the suite that hidden tests decide; on the others nothing is run."""
    tasks = [load_task(catalogue.find("tasks", name)) for name in catalogue.match_tasks(SUITE)]
    return [task for task in tasks if has_hidden_tests(task)]


async def _measure_task(
    figures: Figures, task: Task, provider: SandboxProvider, times: int
) -> None:
    resets, overhead, alone = (Figure("", "", "ms") for _ in range(3))
    async with Environment(task, provider) as environment:
        for _ in range(_RESETS):
            async with resets.timed():
                episode = await environment.start(0)
            await episode.step(Action("give_up", {"reason": "measured"}))
        prepared = await prepare(task.instance(0), provider, environment.recipe)
        sandbox = await provider.start(environment.recipe, prepared.snapshot)
        await _solve(sandbox, task)
        with _timed_gradings(overhead, alone, times, sandbox, task):
            episode = await environment.start(0)
            for action in oracle(episode.instance):
                verdict = (await episode.step(answered(action, episode.steps))).verdict
        await sandbox.close()
        if verdict is None or not verdict.outcome:
            raise SandboxError(f"bench: the oracle of {task.id} did not pass: {verdict}")
        fresh = await (await provider.start(environment.recipe)).seal()
        stored = await _stored_mb(provider, fresh, prepared.snapshot)
    of_task = {"reset_ms.p50": resets, "tests_ms.p50": alone, "grade_overhead_ms.p50": overhead}
    for name, figure in of_task.items():
        assert figure.value is not None
        figures[name].samples.append(figure.value)
    figures["instance_mb"].samples.append(stored)


async def _solve(sandbox: Sandbox, task: Task) -> None:
    """Solve the task and lay its hidden tests beside it."""
    issue = Issue(task.folder / "checks")
    await sandbox.exec(
        ["/bin/bash", "-e"], stdin=(task.folder / "solution" / "solve.sh").read_bytes()
    )
    for path, entry in issue.hidden.items():
        await sandbox.write_file(f"{issue.manifest.root}/{path}", entry.data)


async def _run_tests(sandbox: Sandbox, task: Task) -> None:
    """Run pytest over the solved repository and the hidden tests."""
    done = await sandbox.exec(
        ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=Issue(task.folder / "checks").manifest.root,
        # Modules are imported from the working directory, as a user's run does.
        env={**room.ENVIRONMENT, **ENVIRONMENT, "PYTHONSAFEPATH": ""},
    )
    if done.exit_code != 0:
        raise SandboxError(f"bench: {task.id}: {done.stdout[-500:]!r}")


async def _measure_large(figures: Figures, provider: SandboxProvider, files: int) -> None:
    recipe = load_recipe(_RECIPE)
    sandbox = await provider.start(recipe)
    script = _WRITE_LARGE.format(files=files).encode()
    await sandbox.exec(["/usr/bin/python3", "-"], stdin=script, timeout_s=300)
    snapshot = await sandbox.seal()
    for _ in range(_RESETS):
        async with figures["reset_large_ms.p50"].timed():
            sandbox = await provider.start(recipe, snapshot)
            shell = await sandbox.open_shell()
        await shell.close()
        await sandbox.close()


async def _stored_mb(provider: SandboxProvider, before: Snapshot, after: Snapshot) -> float:
    tree, size = await provider.open_tree(after), 0
    for change in await provider.compare(before, after):
        stat = tree.stat(change.path, follow=False)
        size += -(-stat.size // _BLOCK_BYTES) * _BLOCK_BYTES + _BLOCK_BYTES if stat else 0
    return size / 2**20


@contextlib.contextmanager
def _timed_gradings(
    overhead: Figure, alone: Figure, times: int, sandbox: Sandbox, task: Task
) -> Iterator[None]:
    """Judge a finished episode several times more, and run its tests alone after each time."""
    grade = vars(ending)["grade"]

    async def timed_grade(*args: Any, **kwargs: Any) -> Verdict:
        verdict: Verdict = await grade(*args, **kwargs)
        for _ in range(times):
            started = time.perf_counter()
            # A grading that was started early is used up, so each of these starts its own.
            verdict = await grade(*args, **{**kwargs, "start": None})
            graded_ms = (time.perf_counter() - started) * 1e3
            async with alone.timed():
                await _run_tests(sandbox, task)
            overhead.samples.append(graded_ms - alone.samples[-1])
        return verdict

    setattr(ending, "grade", timed_grade)  # noqa: B010 - mypy takes functions for fixed
    try:
        yield
    finally:
        setattr(ending, "grade", grade)  # noqa: B010
