"""Checks tasks: runs every probe on every task, many episodes at a time, and reports each task."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from agentgym.authoring.finding import DoesNotApplyError, Finding, Report, Soundness
from agentgym.authoring.probes import PROBES, Probe
from agentgym.authoring.stage import Stage
from agentgym.authoring.subject import Subject
from agentgym.errors import AgentGymError
from agentgym.manifest import show_path
from agentgym.task.load import load_folder

DEFAULT_SEEDS = 2
_UNSCORED = re.compile(r"error:(?:verifier|task|engine): .+")
"""Matches the status in a complaint about an episode that could not be judged."""


def default_jobs() -> int:
    """Return the default number of concurrent episodes: most wait for commands half of the time."""
    return 2 * (os.cpu_count() or 1)


async def check_tasks(
    folders: Sequence[Path],
    stage: Stage,
    *,
    seeds: int = DEFAULT_SEEDS,
    on_begin: Callable[[str], None] = lambda name: None,
    on_report: Callable[[str, Report], None] = lambda name, report: None,
) -> list[Report]:
    """Examine tasks and return a report of each, in their order.

    A few tasks are open at a time: enough that no processor waits, few enough that reports arrive
    one after the other.

    Args:
        folders: Task folders.
        stage: Plays the episodes; the caller closes it.
        seeds: Number of seeds to examine, from 0 on.
        on_begin: Called when a task begins.
        on_report: Called when a task is done.
    """
    open_tasks = asyncio.Semaphore(2)

    async def examined(folder: Path) -> Report:
        async with open_tasks:
            on_begin(show_path(folder))
            report = await check_task(folder, stage, seeds=seeds)
            on_report(show_path(folder), report)
            return report

    return list(await asyncio.gather(*map(examined, folders)))


async def check_task(
    folder: Path,
    stage: Stage,
    *,
    seeds: int = DEFAULT_SEEDS,
    probes: Sequence[Probe] = PROBES,
) -> Report:
    """Examine one task. The report holds whatever is wrong with it.

    Args:
        folder: Task folder.
        stage: Plays the episodes; the caller closes it.
        seeds: Number of seeds to examine, from 0 on.
        probes: Properties to examine; the first one tells whether the task loads.
    """
    began_s = time.monotonic()
    schema, *others = probes
    try:
        subject = Subject(load_folder(folder), range(seeds), stage)
    except Exception as error:  # noqa: BLE001 - the boundary: what a folder holds may raise anything
        return Report(show_path(folder), _unloaded(schema, others, error))
    finding = await _examine(schema, subject)
    if finding.soundness is Soundness.UNSOUND:
        return Report(subject.task.id, (finding, *_skipped(others, "see the schema")))
    found = {schema.name: finding}
    for afterwards in (False, True):
        now = [probe for probe in others if probe.afterwards == afterwards]
        findings = await asyncio.gather(*(_examine(probe, subject) for probe in now))
        found |= {finding.property: finding for finding in findings}
    subject.close()
    return Report(
        subject.task.id,
        tuple(told_once([found[probe.name] for probe in probes])),
        episodes=subject.tally.episodes,
        duration_s=time.monotonic() - began_s,
    )


def told_once(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, reporting an error that broke several probes only under the first.

    A broken check breaks every episode that it judges.
    """
    told: dict[str, str] = {}
    found = []
    for finding in findings:
        lines = []
        for line in finding.details:
            error = _UNSCORED.search(line)
            if error is None or finding.soundness is not Soundness.UNSOUND:
                lines.append(line)
            elif error[0] not in told:
                told[error[0]] = finding.property
                lines.append(line)
        if lines or not finding.details:
            found.append(replace(finding, details=tuple(lines)))
        else:
            names = {told[m[0]] for m in map(_UNSCORED.search, finding.details) if m}
            why = f"could not be examined: the error told under {', '.join(sorted(names))}"
            found.append(replace(finding, soundness=Soundness.NOT_APPLICABLE, details=(why,)))
    return found


async def _examine(probe: Probe, subject: Subject) -> Finding:
    began_s = time.monotonic()
    try:
        complaints = tuple(await probe.examine(subject))
        soundness = Soundness.UNSOUND if complaints else Soundness.SOUND
    except DoesNotApplyError as why:
        complaints, soundness = (str(why),), Soundness.NOT_APPLICABLE
    except Exception as error:  # noqa: BLE001 - one probe of one task must not stop the others
        complaints, soundness = (_told(error),), Soundness.UNSOUND
    return Finding(probe.name, soundness, complaints, time.monotonic() - began_s)


def _unloaded(schema: Probe, others: Sequence[Probe], error: Exception) -> tuple[Finding, ...]:
    finding = Finding(schema.name, Soundness.UNSOUND, tuple(_told(error).splitlines()))
    return finding, *_skipped(others, "the task does not load")


def _skipped(probes: Sequence[Probe], why: str) -> list[Finding]:
    return [Finding(probe.name, Soundness.NOT_APPLICABLE, (why,)) for probe in probes]


def _told(error: Exception) -> str:
    if isinstance(error, AgentGymError):
        return str(error)
    return f"{type(error).__name__}: {error}"
