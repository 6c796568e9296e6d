"""Grading: runs the checks of a rubric over the evidence of an episode.

Owns the worker thread the checks run on and the deadline.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from agentgym.errors import ConfigError, VerifierError
from agentgym.protocols import Judge, SandboxProvider
from agentgym.records import (
    Audit,
    Change,
    CheckpointResult,
    CheckResult,
    CheckStatus,
    Phase,
    Recipe,
    Snapshot,
    Step,
    Verdict,
)
from agentgym.task.model import Instance
from agentgym.task.setup import Prepared
from agentgym.task.state import state_hash
from agentgym.verify.algebra import evaluate
from agentgym.verify.checking import LeafResults, bind_checks, tidy
from agentgym.verify.evidence import EpisodeEvidence
from agentgym.verify.judge.needs import judged_checks
from agentgym.verify.judge.opening import judge_from_environment
from agentgym.verify.memory import RoomMemory
from agentgym.verify.room import CleanRooms
from agentgym.verify.rubric import Rubric
from agentgym.verify.services import ServicesSeen
from agentgym.verify.version import verifier_version

DEADLINE_S = 60.0
_COMMANDS_SHARE = 0.9
_UNWATCHED = CheckResult(CheckStatus.ERROR, "nobody looked at this milestone after every step")

_rooms_opened: dict[str, int] = {}
"""By version of the verifier, how many rooms its last grading opened in this process."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EpisodeEnd:
    """What there is to judge when an episode is over.

    Attributes:
        after: The files the agent left.
        changes: How they differ from the pristine snapshot.
        audit: What the sandbox's keepers saw.
        steps: What the agent did.
        answer: Given to ``submit``.
        gave_up: The reason given to ``give_up``; the outcome is then False unless the task
            says that abstaining can be right.
        services: What became of the services, None where there are none.
    """

    after: Snapshot
    changes: Sequence[Change]
    audit: Audit
    steps: Sequence[Step]
    answer: str | None
    gave_up: str | None
    services: ServicesSeen | None = None


async def grade(
    instance: Instance,
    end: EpisodeEnd,
    prepared: Prepared,
    *,
    provider: SandboxProvider,
    recipe: Recipe,
    latched: Mapping[str, CheckResult] = MappingProxyType({}),
    deadline_s: float = DEADLINE_S,
    judge: Judge | None = None,
    memory: RoomMemory | None = None,
) -> Verdict:
    """Judge a finished episode.

    Commands in clean rooms get nine tenths of the deadline and time out after that, so that a
    program which hangs is the agent's failure and only a check that hangs is the grader's.

    Args:
        instance: The task with its parameters.
        end: How the episode ended.
        prepared: The pristine snapshot and the gold files.
        provider: Opens the snapshots and starts clean rooms.
        recipe: What clean rooms are made of.
        latched: The finished results of milestones by id: passed, with the step at which each
            first held, or failed. One that is absent was not watched, which is an error.
        deadline_s: For the whole grading; checks that have no result by then are in error. Where
            a check asks a judge, it is longer by the judge's `grading_s`.
        judge: Who decides the criteria of checks that ask for it; None: whom AGENTGYM_JUDGE names.
        memory: What clean rooms answered when other endings of the task were graded.

    Returns:
        The verdict, marked with the verifier's version; a broken rubric or check makes it
        ``error:verifier``. Its `state_hash` is empty where the deadline passed before the
        changes were hashed.

    Raises:
        SandboxError: The snapshots cannot be read.
    """
    version = verifier_version(instance.task)
    before = await provider.open_tree(prepared.snapshot)
    after = await provider.open_tree(end.after)
    try:
        rubric, checks = bind_checks(instance)
        judge = _judge_of(instance, judge)
    except (VerifierError, ConfigError) as error:
        return replace(_broken(str(error)), verifier=version)
    if judge is not None:
        deadline_s += judge.grading_s
    commands_s = _COMMANDS_SHARE * deadline_s
    rooms = CleanRooms(
        *(provider, recipe, prepared.snapshot, after),
        commands_s=commands_s,
        # With a memory it is not known how many rooms start at all.
        expected=0 if memory is not None else _rooms_opened.get(version, 0),
        memory=memory,
    )
    evidence = EpisodeEvidence(
        task=instance.task.id,
        seed=instance.seed,
        params=instance.params,
        steps=end.steps,
        answer=end.answer,
        gave_up=end.gave_up,
        before=before,
        after=after,
        changes=end.changes,
        processes=end.audit.processes,
        connections=end.audit.connections,
        gold_files=prepared.gold,
        open_room=rooms.open,
        killed_for_memory=end.audit.killed_for_memory,
        services=end.services,
        judge_with=judge,
        judge_until_s=time.monotonic() + deadline_s,
    )
    milestones = {leaf.id: latched.get(leaf.id, _UNWATCHED) for leaf in rubric.milestones()}
    results = LeafResults(checks, evidence, milestones, rooms.retire)
    volatile = instance.task.manifest.replay.volatile_paths
    try:
        verdict = await _judge(rubric, results, evidence, volatile, deadline_s)
    finally:
        await rooms.close()
        _rooms_opened[version] = rooms.opened
    if end.gave_up is not None and not instance.task.manifest.abstain:
        verdict = replace(verdict, outcome=False)
    return replace(verdict, verifier=version)


async def _judge(
    rubric: Rubric,
    results: LeafResults,
    evidence: EpisodeEvidence,
    volatile_paths: Sequence[str],
    deadline_s: float,
) -> Verdict:
    """Run the checks and hash the state, until the deadline."""
    until_s = time.monotonic() + deadline_s
    hashing = functools.partial(
        state_hash, evidence.changes, evidence.after, volatile_paths, until_s
    )
    judging = in_thread(lambda: (evaluate(rubric, results), hashing()))
    try:
        await asyncio.wait({judging}, timeout=deadline_s)
    except asyncio.CancelledError:
        # The thread goes on without its files; how it fails then is of no interest.
        judging.cancel()
        raise
    finally:
        results.stop(f"no result within the {deadline_s:g} s for grading")
    if judging.done():
        verdict, digest = judging.result()
        return replace(verdict, state_hash=_with_services(digest, evidence))
    judging.cancel()
    return evaluate(rubric, results)


def _with_services(files: str, evidence: EpisodeEvidence) -> str:
    """Return the digest of files and services; that of the files where there are no services."""
    if not files or evidence.services is None:
        return files
    return hashlib.sha256(f"{files}\n{evidence.services.hash}".encode()).hexdigest()


def _judge_of(instance: Instance, judge: Judge | None) -> Judge | None:
    """Return who judges an instance; None where nobody is asked, or nobody is there."""
    if not judged_checks(instance.task.folder / "checks"):
        return None
    return judge or judge_from_environment()


def _broken(why: str) -> Verdict:
    """Return the verdict of a rubric that cannot be used at all."""
    rubric = CheckpointResult("rubric", Phase.OUTCOME, CheckStatus.ERROR, 0.0, 1.0, tidy(why))
    return Verdict("error:verifier", outcome=False, score=0.0, checkpoints=(rubric,))


def in_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """Run a function on a thread of its own.

    Not the loop's executor: its few threads would all wait for rooms, which a provider may
    need that executor to start, and a check that never ends would keep the process from
    ending.
    """
    outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
    outcome.set_running_or_notify_cancel()
    # As asyncio.to_thread does: whoever watches this grading watches its checks too.
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001 - carried over to the loop and raised there
            outcome.set_exception(error)

    threading.Thread(target=work, name="agentgym-grading", daemon=True).start()
    return asyncio.wrap_future(outcome)
