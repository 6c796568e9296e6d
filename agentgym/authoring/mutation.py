"""Mutants of a reference solution: which small mistakes does the task's own grading overlook?

A quick run decides about most mutants. Each that it finds no fault with is graded as a patch is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from agentgym.env.resolved_task import needs_sandbox, resolve_task
from agentgym.errors import ConfigError, TaskError
from agentgym.protocols import FileTree, SandboxProvider
from agentgym.records import Audit, Recipe, Snapshot, Verdict
from agentgym.swe.mutation.mutants import Mutant, find_mutants, sampled
from agentgym.swe.mutation.trial import Trial, Trials
from agentgym.swe.native import Issue
from agentgym.swe.patch import (
    GENERATED,
    Entry,
    FileChange,
    compare_trees,
    patch_of,
    read_entry,
)
from agentgym.task.model import Instance, Task
from agentgym.task.setup import Prepared, prepare
from agentgym.threads import to_thread
from agentgym.verify.grade import EpisodeEnd, grade

_BATCH: Final = 24
_TELL_S: Final = 10.0
_SPARE_S: Final = 4.0
_TIMES_LONGER: Final = 4.0


class Fate(StrEnum):
    """The result for a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"
    ERROR = "error"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Judged:
    """A mutant and what became of it.

    Attributes:
        mutant: The mutant.
        fate: The result. A mutant that took too long counts as noticed.
        why: The test or rule that noticed it, or what went wrong.
    """

    mutant: Mutant
    fate: Fate
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The mutants of one task.

    Attributes:
        task: Id of the task.
        found: Number of mutants that the solution has.
        judged: Those that were chosen, in the order of files and lines.
    """

    task: str
    found: int
    judged: Sequence[Judged] = field(default_factory=list)

    def of(self, fate: Fate) -> list[Judged]:
        """Return the mutants with a fate."""
        return [one for one in self.judged if one.fate is fate]


@dataclass(frozen=True, kw_only=True)
class SurveyPlan:
    """The mutants that are tried, and the time for them.

    Attributes:
        limit: Largest number of mutants.
        seed: Chooses among more.
        everywhere: See `find_mutants`.
        jobs: Number of sandboxes at a time.
        deadline_s: No mutant is tried after this time, in seconds.
    """

    limit: int
    seed: int = 0
    everywhere: bool = False
    jobs: int = 1
    deadline_s: float = 1800.0


async def survey_task(
    task: Task, provider: SandboxProvider, plan: SurveyPlan, tell: Callable[[str], None]
) -> Survey:
    """Try the mutants of a task's solution.

    Args:
        task: A task about a repository (docs/swe.md).
        provider: Starts the sandboxes.
        plan: What is tried.
        tell: Called with the progress.

    Raises:
        ConfigError: The task is of another kind, or has no solution to mutate.
        TaskError: Its solution fails, does not pass, or changes no Python module.
    """
    until = time.monotonic() + plan.deadline_s
    issue = issue_of(task)
    recipe = replace(resolve_task(task).recipe, network="none", allow=(), user="root")
    instance = task.instance(0)
    prepared = await prepare(instance, provider, recipe)
    solved = await _solved(task, provider, recipe, prepared)
    try:
        grading = _Grading(instance, provider, recipe, prepared, solved, issue.manifest.root)
        verdict = await grading.verdict(solved)
        if not verdict.outcome:
            raise TaskError(
                f"{task.id}: its solution does not pass, so its mutants say nothing: "
                f"{_message(verdict)}; see agentgym task check"
            )
        base, after = await provider.open_tree(prepared.snapshot), await provider.open_tree(solved)
        before, then = [await to_thread(_modules, issue, tree) for tree in (base, after)]
        if before == then:
            raise TaskError(f"{task.id}: its solution changes no Python module beside the tests")
        found = await to_thread(lambda: find_mutants(before, then, everywhere=plan.everywhere))
        changes = await provider.compare(prepared.snapshot, solved)
        gold = await to_thread(compare_trees, base, after, issue.manifest.root, changes)
        pytest = await to_thread(issue.plan, base)
        trials = Trials(provider, recipe, prepared.snapshot, pytest, issue.counted(gold))
        hunt = _Hunt(trials, grading, plan, until, tell)
        chosen = sampled(found, plan.limit, plan.seed)
        return Survey(task=task.id, found=len(found), judged=await hunt.judge(chosen))
    finally:
        await provider.discard(solved)


def issue_of(task: Task) -> Issue:
    """Return the issue of a task.

    Raises:
        ConfigError: The task is of another kind, or has no solution to mutate.
        VerifierError: A file of the issue is missing or broken.
    """
    checks = task.folder / "checks"
    if not (checks / "issue.toml").is_file() or not needs_sandbox(task):
        raise ConfigError(
            f"{task.id} has no checks/issue.toml; expected a task about a repository, with tests "
            "that decide (docs/swe.md)"
        )
    if not (task.folder / "solution" / "solve.sh").is_file():
        raise ConfigError(f"{task.id} has no solution/solve.sh: there is nothing to mutate")
    return Issue(checks)


async def _solved(
    task: Task, provider: SandboxProvider, recipe: Recipe, prepared: Prepared
) -> Snapshot:
    sandbox = await provider.start(recipe, prepared.snapshot)
    try:
        script = (task.folder / "solution" / "solve.sh").read_bytes()
        done = await sandbox.exec(["/bin/bash", "-e"], stdin=script)
        if done.exit_code != 0:
            said = done.stderr.decode("utf-8", "replace").strip()[-500:]
            raise TaskError(f"{task.id}: its solution ends with {done.exit_code}: {said}")
        return await sandbox.seal()
    finally:
        await sandbox.close()


def _modules(issue: Issue, tree: FileTree) -> dict[str, bytes]:
    """Return the Python modules of a repository that are no tests, and that a fix may change."""
    root = issue.manifest.root
    found: dict[str, bytes] = {}
    for full, stat in tree.walk(root):
        path = full.removeprefix(f"{root}/")
        parts = path.split("/")
        hidden = any(part.startswith(".") or part in GENERATED for part in parts)
        if stat.kind == "file" and path.endswith(".py") and not hidden:
            entry = read_entry(tree, full)
            if entry is not None:
                found[path] = entry.data
    whole = patch_of(FileChange(path, None, Entry("file", data)) for path, data in found.items())
    left_out = {*issue.tests_of(tree), *issue.changed_though_kept(whole)}
    return {path: found[path] for path in issue.counted(whole).paths if path not in left_out}


class _Grading:
    """Grades states of the repository as the end of an episode is graded.

    Args:
        instance: The task.
        provider: Starts the sandboxes.
        recipe: Their recipe.
        prepared: The state before the solution.
        solved: The state after it.
        root: The repository.
    """

    def __init__(
        self,
        instance: Instance,
        provider: SandboxProvider,
        recipe: Recipe,
        prepared: Prepared,
        solved: Snapshot,
        root: str,
    ) -> None:
        self._instance, self._provider, self._recipe = instance, provider, recipe
        self._prepared, self._solved, self._root = prepared, solved, root

    async def verdict(self, after: Snapshot) -> Verdict:
        """Return the verdict on a state."""
        changes = await self._provider.compare(self._prepared.snapshot, after)
        end = EpisodeEnd(after, changes, Audit(), (), None, None)
        return await grade(
            *(self._instance, end, self._prepared), provider=self._provider, recipe=self._recipe
        )

    async def judge(self, mutant: Mutant) -> Judged:
        """Grade the solution with a mistake."""
        sandbox = await self._provider.start(self._recipe, self._solved)
        try:
            await sandbox.write_file(f"{self._root}/{mutant.path}", mutant.after)
            after = await sandbox.seal()
        finally:
            await sandbox.close()
        try:
            verdict = await self.verdict(after)
        finally:
            await self._provider.discard(after)
        if not verdict.scored:
            return Judged(mutant, Fate.ERROR, _message(verdict))
        fate = Fate.SURVIVED if verdict.outcome else Fate.KILLED
        return Judged(mutant, fate, _message(verdict))


class _Hunt:
    """Judges mutants, several at a time, until the deadline.

    Args:
        trials: Quick runs.
        grading: The task's own grading.
        plan: How many at a time.
        until: When it ends, by the monotonic clock.
        tell: Called with the progress.
    """

    def __init__(
        self,
        trials: Trials,
        grading: _Grading,
        plan: SurveyPlan,
        until: float,
        tell: Callable[[str], None],
    ) -> None:
        self._trials, self._grading, self._tell = trials, grading, tell
        self._seats, self._until = asyncio.Semaphore(plan.jobs), until
        self._fates: dict[Mutant, Judged] = {}
        self._told_s = time.monotonic()

    async def judge(self, mutants: Sequence[Mutant]) -> list[Judged]:
        """Return what became of each."""
        first = (await self._trials.run([None], _SPARE_S * 10))[0]
        quick = first is not None and first.whole
        if not quick:
            self._tell("the solution fails in a quick run, so each mutant is graded by itself")
        batches = [mutants[at : at + _BATCH] for at in range(0, len(mutants), _BATCH)]
        try:
            async with asyncio.TaskGroup() as group:
                for batch in batches:
                    group.create_task(self._batch(batch, first if quick else None, len(mutants)))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [self._fates.get(one) or Judged(one, Fate.NOT_TRIED) for one in mutants]

    async def _batch(self, mutants: Sequence[Mutant], normal: Trial | None, total: int) -> None:
        async with self._seats:
            left = list(mutants)
            if normal is not None and time.monotonic() < self._until:
                timeout_s = _SPARE_S + _TIMES_LONGER * normal.duration_s
                seen = await self._trials.run(mutants, timeout_s)
                left = []
                for mutant, trial in zip(mutants, seen, strict=True):
                    if judged := _noticed(mutant, trial, normal):
                        self._fates[mutant] = judged
                    else:
                        left.append(mutant)
                self._progress(total)
            for mutant in left:
                if time.monotonic() >= self._until:
                    return
                self._fates[mutant] = await self._grading.judge(mutant)
                self._progress(total)

    def _progress(self, total: int) -> None:
        if time.monotonic() - self._told_s < _TELL_S:
            return
        self._told_s = time.monotonic()
        survived = sum(one.fate is Fate.SURVIVED for one in self._fates.values())
        self._tell(f"{len(self._fates)} of {total} mutants, {survived} survived")


def _noticed(mutant: Mutant, trial: Trial | None, normal: Trial) -> Judged | None:
    """Return the mutant as killed if a quick run found a fault, else None."""
    if trial is None:
        return None
    if trial.timed_out:
        return Judged(mutant, Fate.TIMED_OUT)
    if trial.whole and trial.passed == normal.passed:
        return None
    return Judged(mutant, Fate.KILLED, trial.failed or "the run of the tests ended early")


def _message(verdict: Verdict) -> str:
    return "; ".join(each.message for each in verdict.checkpoints if each.message)
