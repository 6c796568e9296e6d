"""What is asked of every task of a bundled suite."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import full_checks
import pytest

import agentgym
from agentgym import catalogue
from agentgym.authoring.check import check_task
from agentgym.authoring.probes import PROBES
from agentgym.authoring.stage import Stage
from agentgym.records import Phase
from agentgym.task.load import find_task
from agentgym.verify.rubric import load_rubric

SEEDS = 2
_ALWAYS = ("schema", "oracle", "noop", "refusal", "random", "mutants", "messages")
_BUNDLED = Path(agentgym.__file__).resolve().parents[1] / "tasks"


def folders_of(suite: str) -> Mapping[str, Path]:
    """Return the folders of a bundled suite by task id."""
    found = catalogue.folders("tasks").items()
    return {task_id: folder for task_id, folder in found if folder.parent == _BUNDLED / suite}


async def check_soundness(folder: Path, stage: Stage, *, full: bool, note: bool) -> None:
    """Let `agentgym task check` have its say.

    A task that did not change since it was noted is examined with one seed and a part of the
    properties: the cheap ones, and of the others those that its name draws, a quarter. Together
    the tasks still try every property on a change of the engine.
    """
    version = full_checks.version_of(folder)
    whole = full or not full_checks.is_noted(folder)
    if note and not whole:
        pytest.skip("this version of the task is noted as sound")
    if whole:
        report = await check_task(folder, stage, seeds=SEEDS)
    else:
        probes = [probe for probe in PROBES if _is_drawn(folder.name, probe.name)]
        report = await check_task(folder, stage, seeds=1, probes=probes)
    assert report.sound, "\n".join(
        f"{finding.property}: {line}" for finding in report.unsound for line in finding.details
    )
    if note and version == full_checks.version_of(folder):
        full_checks.note(folder, version)


def _is_drawn(task: str, probe: str) -> bool:
    if probe in _ALWAYS:
        return True
    return hashlib.sha256(f"{task} {probe}".encode()).digest()[0] % 4 == 0


def check_form(task_id: str, outcomes: int) -> None:
    """Demand so many checkpoints of the outcome, and mutants that say why they must not pass."""
    task = find_task(task_id)
    assert task.id == task_id
    leaves = load_rubric(task.folder / "checks" / "rubric.toml").leaves()
    assert sum(leaf.phase is Phase.OUTCOME for leaf in leaves) >= outcomes
    assert len(task.mutants()) >= 3
    for path in task.mutants().values():
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#!")]
        assert lines[0].startswith("# "), f"{path.name} does not say why it must not pass"


def check_slots(task_id: str, seeds: int) -> int:
    """Demand that no slot is left over for some seeds; return how many instances differ."""
    task = find_task(task_id)
    instances = [task.instance(seed) for seed in range(seeds)]
    assert not [i.seed for i in instances if "{{" in i.instruction or "}}" in i.instruction]
    return len({(repr(sorted(i.params.items())), i.instruction) for i in instances})
