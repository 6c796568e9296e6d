"""Checks tasks: every probe over every task, many episodes at a time, one report a task."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agentgym.authoring.finding import DoesNotApplyError, Finding, Report, Soundness
from agentgym.authoring.probes import PROBES, Probe
from agentgym.authoring.stage import Stage
from agentgym.authoring.subject import Subject
from agentgym.errors import AgentGymError
from agentgym.manifest import show_path
from agentgym.task.load import load_folder

DEFAULT_SEEDS = 2


def default_jobs() -> int:
    """Return how many episodes run at a time: most wait for their commands half of the time."""
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

    A few tasks are open at a time: enough that no processor waits, few enough that reports come
    one after the other.

    Args:
        folders: Of the tasks.
        stage: Plays the episodes; stays open.
        seeds: How many seeds are looked at, from 0 on.
        on_begin: Hears of a task that is begun.
        on_report: Hears of a task that is done.
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
    """Examine one task. Whatever is wrong with it is in the report.

    Args:
        folder: Of the task.
        stage: Plays the episodes; stays open.
        seeds: How many seeds are looked at, from 0 on.
        probes: The properties that are examined; the first one says whether the task loads.
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
        tuple(found[probe.name] for probe in probes),
        episodes=len(subject.played),
        duration_s=time.monotonic() - began_s,
    )


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
