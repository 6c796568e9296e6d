"""Grades predictions: a result per line in a file that only grows, and SWE-bench's report."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from agentgym.errors import AgentGymError, ConfigError
from agentgym.protocols import SandboxProvider
from agentgym.record.result_files import ResultFiles
from agentgym.sandbox.build.builder import Builds, run_builds
from agentgym.swe.apply import apply_diff
from agentgym.swe.clone import find_clone
from agentgym.swe.grading import GradedPatch, longest_s
from agentgym.swe.instance import Instance
from agentgym.swe.instance_rooms import build_context, image_recipe, open_ground
from agentgym.swe.instance_tests import grade_instance
from agentgym.swe.patch import PatchError
from agentgym.swe.predictions import Prediction
from agentgym.swe.specs.resolve import packages_until, resolve_environment
from agentgym.swe.specs.table import SpecTable
from agentgym.swe.task_folder import InstanceTask, folder_name, read_task, write_task
from agentgym.threads import to_thread

_BATCH: Final = 8
_RESULTS: Final = "results.jsonl"


class Fate(StrEnum):
    """The result for a prediction."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    EMPTY = "empty_patch"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Result:
    """The grade of one prediction.

    Attributes:
        instance_id: Id of the instance.
        fate: The result; an error is a failure of the environment, not of the patch.
        reason: One line.
        fail_to_pass: Outcome by test.
        pass_to_pass: Outcome by test.
        replaced: What stood in for a version that this machine lacks.
        graded: Digest of what was graded: the patch, the instance and the tables.
    """

    instance_id: str
    fate: Fate
    reason: str
    fail_to_pass: Mapping[str, str] = field(default_factory=dict)
    pass_to_pass: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    graded: str = ""


_ADAPTER: Final = TypeAdapter(Result)


@dataclass(frozen=True, kw_only=True)
class GradingPlan:
    """The order for a grading.

    Attributes:
        predictions: The predictions.
        instances: The instances of the data set, by id.
        clones: Folder with the clones.
        out: Folder of the results.
        tables: Tables of environments.
        jobs: Number of predictions that are graded at a time.
    """

    predictions: Sequence[Prediction]
    instances: Mapping[str, Instance]
    clones: Path
    out: Path
    tables: Sequence[SpecTable] = ()
    jobs: int = 1

    def digest(self, prediction: Prediction) -> str:
        """Return a digest of everything that decides about a prediction."""
        parts = (prediction.model_patch, self.instances[prediction.instance_id], self.tables)
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


async def grade_predictions(
    plan: GradingPlan,
    provider: SandboxProvider,
    tell: Callable[[str], None],
    on_result: Callable[[Result], None],
) -> dict[str, Any]:
    """Grade the predictions that have no result yet, and return the report.

    Args:
        plan: What is graded.
        provider: Starts the sandboxes; its owner closes it.
        tell: Called with the progress of builds.
        on_result: Called with each result, those of earlier calls first.

    Raises:
        ConfigError: A prediction names an unknown instance, or the results cannot be read.
    """
    for prediction in plan.predictions:
        if prediction.instance_id not in plan.instances:
            raise ConfigError(
                f"prediction for {prediction.instance_id!r}: the instances have no such id"
            )
    files = ResultFiles(plan.out)
    results = _Results(files)
    found: dict[str, Result] = {}
    for prediction in plan.predictions:
        known = results.found.get(plan.digest(prediction))
        if known is not None:
            found[prediction.instance_id] = known
            on_result(known)
    waiting = [each for each in plan.predictions if each.instance_id not in found]
    seats = asyncio.Semaphore(plan.jobs)

    async def one(prediction: Prediction, task: InstanceTask | Result) -> None:
        async with seats:
            if isinstance(task, Result):
                result = task
            else:
                result = await _graded(prediction, task, provider, files)
            result = replace(result, graded=plan.digest(prediction))
            results.add(result)
            found[prediction.instance_id] = result
            on_result(result)

    for first in range(0, len(waiting), _BATCH):
        batch = waiting[first : first + _BATCH]
        tasks = await run_builds(functools.partial(_prepared, plan, files, batch, tell))
        try:
            async with asyncio.TaskGroup() as group:
                for prediction, task in zip(batch, tasks, strict=True):
                    group.create_task(one(prediction, task))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
    report = report_of(plan, list(found.values()))
    files.replace("report.json", json.dumps(report, indent=1) + "\n")
    return report


def _prepared(
    plan: GradingPlan,
    files: ResultFiles,
    batch: Sequence[Prediction],
    tell: Callable[[str], None],
    builds: Builds,
) -> list[InstanceTask | Result]:
    """Write the folders of instances and build their images; a failure is a result."""
    done: list[InstanceTask | Result] = []
    for prediction in batch:
        if builds.stopped:
            break
        instance = plan.instances[prediction.instance_id]
        if not prediction.model_patch.strip():
            done.append(Result(instance.id, Fate.EMPTY, "the patch is empty"))
            continue
        try:
            clone = find_clone(plan.clones, instance.repo)
            spec = resolve_environment(instance, clone, plan.tables)
            until = packages_until(instance, clone)
            folder = write_task(files.make("tasks/graded"), instance, clone, spec, until)
            task = read_task(folder)
            build_context(task.context, builds, tell)
        except AgentGymError as error:
            done.append(Result(instance.id, Fate.ERROR, str(error)[:2000]))
        else:
            done.append(task)
    return done


async def _graded(
    prediction: Prediction, task: InstanceTask, provider: SandboxProvider, files: ResultFiles
) -> Result:
    """Grade a patch; the output of its tests goes to a file in the folder ``logs``."""
    identity, replaced = task.instance.id, dict(task.pointer.replaced)
    try:
        recipe = await to_thread(image_recipe, task.context, folder_name(identity))
        async with open_ground(provider, recipe) as ground:
            tests = task.tests(ground.plugins)
            try:
                patch = await to_thread(apply_diff, prediction.model_patch, tests.base)
            except PatchError as error:
                why = f"the patch does not apply: {error}"
                return Result(identity, Fate.UNRESOLVED, why, replaced=replaced)
            graded: GradedPatch = await ground.grade(
                lambda open_room: grade_instance(tests, open_room, patch),
                commands_s=longest_s(tests.spec.timeout_s, gold=True),
            )
    except AgentGymError as error:
        return Result(identity, Fate.ERROR, str(error)[:2000], replaced=replaced)
    files.replace(f"logs/{folder_name(identity)}.txt", graded.run.log)
    return Result(
        identity,
        Fate(graded.grade.value),
        graded.reason,
        {test: seen.value for test, seen in graded.resolution.fail_to_pass.items()},
        {test: seen.value for test, seen in graded.resolution.pass_to_pass.items()},
        replaced,
    )


class _Results:
    """The results so far by what was graded, in a file that only grows."""

    def __init__(self, files: ResultFiles) -> None:
        self._files = files
        self.found: dict[str, Result] = {}
        for number, line in enumerate(files.lines(_RESULTS), 1):
            try:
                result = _ADAPTER.validate_python(json.loads(line))
            except (ValueError, RecursionError) as error:
                told = f"{files.path(_RESULTS)}:{number}: no line of results: {error!s:.2000}"
                raise ConfigError(told) from error
            self.found[result.graded] = result

    def add(self, result: Result) -> None:
        """Write a result down; an error is told, and graded again by the next call."""
        if result.fate is not Fate.ERROR:
            self._files.add(_RESULTS, json.dumps(asdict(result), ensure_ascii=False))


def report_of(plan: GradingPlan, results: Sequence[Result]) -> dict[str, Any]:
    """Return the report, with the fields of SWE-bench's."""
    ids = {fate: sorted(one.instance_id for one in results if one.fate is fate) for fate in Fate}
    submitted = sorted(prediction.instance_id for prediction in plan.predictions)
    completed = sorted([*ids[Fate.RESOLVED], *ids[Fate.UNRESOLVED]])
    return {
        "schema_version": 2,
        "total_instances": len(plan.instances),
        "submitted_instances": len(submitted),
        "completed_instances": len(completed),
        "resolved_instances": len(ids[Fate.RESOLVED]),
        "unresolved_instances": len(ids[Fate.UNRESOLVED]),
        "empty_patch_instances": len(ids[Fate.EMPTY]),
        "error_instances": len(ids[Fate.ERROR]),
        "submitted_ids": submitted,
        "completed_ids": completed,
        "incomplete_ids": sorted(set(plan.instances) - set(submitted)),
        "resolved_ids": ids[Fate.RESOLVED],
        "unresolved_ids": ids[Fate.UNRESOLVED],
        "empty_patch_ids": ids[Fate.EMPTY],
        "error_ids": ids[Fate.ERROR],
        "replaced": {one.instance_id: dict(one.replaced) for one in results if one.replaced},
    }
