"""Measures the lists of a native issue: which tests fail without its solution, and pass with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentgym.errors import VerifierError
from agentgym.protocols import FileTree, Sandbox, SandboxProvider
from agentgym.records import Recipe, Snapshot
from agentgym.swe.native import Issue
from agentgym.swe.outcomes import Outcome
from agentgym.swe.patch import Patch, compare_trees
from agentgym.swe.test_run import TestRun, run_pytest
from agentgym.task.model import Task
from agentgym.task.setup import prepare
from agentgym.threads import to_thread
from agentgym.verify.room import CleanRooms

_COMMANDS_S = 600.0


async def measure_issue(
    task: Task, provider: SandboxProvider, recipe: Recipe, *, foreign: bool = False
) -> dict[str, Sequence[str]]:
    """Return the content of `tests.json`, from runs over the base and over the solution.

    Args:
        task: A task of the native suite, with ``solution/solve.sh``.
        provider: Starts the sandboxes.
        recipe: Recipe of the task's environment.
        foreign: See `list_tests`.

    Raises:
        VerifierError: A run leaves no evidence, or no test fails without the solution.
    """
    prepared = await prepare(task.instance(0), provider, recipe)
    solved = await _solve(await provider.start(recipe, prepared.snapshot), task)
    changes = await provider.compare(prepared.snapshot, solved)
    before = await provider.open_tree(prepared.snapshot)
    after = await provider.open_tree(solved)
    issue = Issue(task.folder / "checks", listed=False)
    gold = await to_thread(compare_trees, before, after, issue.manifest.root, changes)
    rooms = CleanRooms(
        provider, recipe, prepared.snapshot, after, commands_s=_COMMANDS_S, expected=2
    )
    try:
        return await to_thread(_measure, rooms, issue, before, gold, foreign)
    finally:
        await rooms.close()
        await provider.discard(solved)


async def _solve(sandbox: Sandbox, task: Task) -> Snapshot:
    script = (task.folder / "solution" / "solve.sh").read_bytes()
    done = await sandbox.exec(["/bin/bash", "-e"], stdin=script)
    if done.exit_code != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[-500:]
        raise VerifierError(f"{task.id}: its solution ends with {done.exit_code}: {said}")
    return await sandbox.seal()


def _measure(
    rooms: CleanRooms, issue: Issue, base: FileTree, gold: Patch, foreign: bool
) -> dict[str, Sequence[str]]:
    plan = issue.plan(base)
    return list_tests(
        lambda patch: run_pytest(rooms.open(()), plan, patch), issue.counted(gold), foreign=foreign
    )


def list_tests(
    run: Callable[[Patch], TestRun], gold: Patch, *, foreign: bool = False
) -> dict[str, Sequence[str]]:
    """Return the lists by two runs, over the base and over the base with the gold patch.

    Args:
        run: Runs the tests over the base and a patch.
        gold: The gold patch, without tests.
        foreign: Whether the tests are of another project: those that fail with the gold patch, too,
            are left out then.

    Raises:
        VerifierError: A run leaves no evidence, no test fails without the gold patch, or one of our
            own fails with it.
    """
    before, after = run(Patch()), run(gold)
    for name, seen in (("base", before), ("gold patch", after)):
        if seen.problem:
            raise VerifierError(f"the tests over the {name}: {seen.problem}\n{seen.log[-2000:]}")
    odd = {name: seen for name, seen in after.outcomes.items() if seen is not Outcome.PASS}
    if odd and not foreign:
        name, outcome = next(iter(odd.items()))
        raise VerifierError(f"with the gold patch {name} is {outcome.value}\n{after.log[-2000:]}")
    passing = [name for name, seen in sorted(after.outcomes.items()) if seen is Outcome.PASS]
    keep = [name for name in passing if before.outcomes.get(name) is Outcome.PASS]
    fail = [name for name in passing if before.outcomes.get(name) is not Outcome.PASS]
    if not fail:
        raise VerifierError(f"no test fails without the gold patch and passes with it\n{after.log}")
    return {"fail_to_pass": fail, "pass_to_pass": keep}
