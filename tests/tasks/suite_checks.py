"""What is asked of every task of a bundled suite."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import full_checks
import pytest

import agentgym
from agentgym import catalogue
from agentgym.authoring.check import check_task
from agentgym.authoring.probes import PROBES, Probe
from agentgym.authoring.probes.secrecy import contacted_hosts
from agentgym.authoring.probes.words import not_solved, passing
from agentgym.authoring.stage import Stage
from agentgym.authoring.subject import Subject
from agentgym.records import Phase
from agentgym.task.load import find_task
from agentgym.task.reference_actions import read_reference
from agentgym.verify.rubric.file import load_rubric

SEEDS = 2
EXAMINED = 1
ONE_IN = 3
_FREE = ("schema", "noop", "template", "gold")
_BUNDLED = Path(agentgym.__file__).resolve().parents[1] / "tasks"


def folders_of(suite: str) -> Mapping[str, Path]:
    """Return the folders of a bundled suite by task id."""
    found = catalogue.folders("tasks").items()
    return {task_id: folder for task_id, folder in found if folder.parent == _BUNDLED / suite}


async def check_soundness(
    folder: Path, stage: Stage, *, full: bool, note: bool, briefly: Collection[str] = ()
) -> None:
    """Let `agentgym task check` have its say, briefly on a task that did not change.

    Args:
        folder: Folder of the task.
        stage: Plays the episodes.
        full: Examine every property over several seeds, even if the task did not change.
        note: Note a task that is found sound; skip one that is noted.
        briefly: Properties that a brief examination is limited to; empty for no such limit.
    """
    version = full_checks.version_of(folder)
    whole = full or not full_checks.is_noted(folder)
    if note and not whole:
        pytest.skip("this version of the task is noted as sound")
    if whole:
        report = await check_task(folder, stage, seeds=SEEDS)
    else:
        report = await check_task(folder, stage, seeds=1, probes=brief_probes(folder, briefly))
    assert report.sound, "\n".join(
        f"{finding.property}: {line}" for finding in report.unsound for line in finding.details
    )
    if note and version == full_checks.version_of(folder):
        full_checks.note(folder, version)


def brief_probes(folder: Path, only: Collection[str] = ()) -> list[Probe]:
    """Return the probes of a task that was sound with the engine of an earlier commit.

    They are limited to those of the names in `only`, if it names any.

    The solution must still score 1 and doing nothing 0; properties that need no further episode
    are examined too. Of one task in three, a mutant must not pass. Each other property costs
    several episodes, so it is examined for one task of a suite. Together the tasks still try every
    property on a change of the engine. `tests/verify/test_message_rates.py` judges the known texts
    of every task.
    """
    brief = {"oracle": _solves, "offline": _contacted_nobody}
    if _is_drawn(folder, "mutants", ONE_IN):
        brief["mutants"] = _a_mutant
    return [
        replace(probe, examine=brief[probe.name]) if probe.name in brief else probe
        for probe in PROBES
        if (probe.name in _FREE or probe.name in brief or _is_drawn(folder, probe.name))
        and (not only or probe.name in only)
    ]


def left_out(folders: Mapping[str, Path]) -> set[str]:
    """Return the properties that no task of a suite is examined for if none changed."""
    examined = {probe.name for folder in folders.values() for probe in brief_probes(folder)}
    return {probe.name for probe in PROBES} - examined


async def _solves(subject: Subject) -> list[str]:
    return not_solved("solution", await subject.oracle())


async def _contacted_nobody(subject: Subject) -> list[str]:
    """Look at what the other probes have played, the solution with an empty room cache included."""
    await subject.oracle()
    return contacted_hosts(subject)


async def _a_mutant(subject: Subject) -> list[str]:
    paths = subject.task.mutants()
    for name in sorted(paths, key=lambda name: _draw(subject.task.id, name))[:1]:
        played = await subject.play(read_reference(paths[name], subject.instance(0)))
        return passing(f"mutant {name}", played)
    return []


def _is_drawn(folder: Path, what: str, one_in: int = 0) -> bool:
    suite = [path.parent.name for path in folder.parent.glob("*/task.toml")]
    drawn = -(-len(suite) // one_in) if one_in else EXAMINED
    return folder.name in sorted(suite, key=lambda task: _draw(task, what))[:drawn]


def _draw(task: str, what: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{task} {what}".encode()).digest()[:4])


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
