"""Grading: run the checks of a rubric over the evidence of an episode.

The module owns the worker thread that runs the checks, and the deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from agentgym.errors import ConfigError, VerifierError
from agentgym.protocols import FileTree, Judge, SandboxProvider
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
from agentgym.records.verdicts import Words
from agentgym.task.model import Instance
from agentgym.task.setup import Prepared
from agentgym.verify.checking import Broken, LeafResults, tidy
from agentgym.verify.evidence import EpisodeEvidence
from agentgym.verify.grading_start import GradingStart
from agentgym.verify.judge.opening import judge_from_environment
from agentgym.verify.room import STARTING_S, CleanRooms
from agentgym.verify.room_cache import RoomCache
from agentgym.verify.rubric.algebra import evaluate
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.rubric.tree import Rubric
from agentgym.verify.service_state import ServicesSeen
from agentgym.verify.thread import in_thread
from agentgym.verify.turns import GRADINGS
from agentgym.verify.version import verifier_version
from agentgym.verify.worker.host import Answers
from agentgym.verify.worker.rubric_pass import RubricPass
from agentgym.verify.worker.runner import BROKE, CheckRunner

MESSAGES = "messages."
"""Prefix in ``use`` of the checks that read messages."""
UNTOUCHED_S = 30.0
"""Least time in seconds for a second run of a broken check, in the untouched world."""
RULES = "rules"
"""Checkpoint that stands for the tests of another format."""

_COMMANDS_SHARE = 0.9
_UNTOUCHED_SHARE = 0.5
_SLACK_S = 60.0
_UNWATCHED = CheckResult(CheckStatus.ERROR, "this milestone was not checked after every step")

_rooms_opened: dict[str, int] = {}
"""Number of rooms that the last grading in this process opened, by version of the verifier."""


@dataclass(frozen=True, slots=True)
class EpisodeEnd:
    """The end of an episode: everything that grading needs.

    Attributes:
        after: The files that the agent left.
        changes: Their differences from the pristine snapshot.
        audit: The sandbox's audit.
        steps: The steps of the agent.
        answer: The argument of ``submit``.
        gave_up: The reason given to ``give_up``; the outcome is then False unless the task accepts
            abstaining.
        services: The final services; None if the environment has no services.
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
    deadline_s: float | None = None,
    judge: Judge | None = None,
    room_cache: RoomCache | None = None,
    start: GradingStart | None = None,
) -> Verdict:
    """Judge a finished episode.

    Commands in clean rooms get nine tenths of the deadline and time out after that. A program that
    hangs is thus the agent's failure, and a check that hangs is the grader's.

    Args:
        instance: The task with its parameters.
        end: The end of the episode.
        prepared: The pristine snapshot and the gold files.
        provider: Opens the snapshots and starts clean rooms.
        recipe: Recipe of the clean rooms.
        latched: The finished results of milestones by id: passed, with the step at which each first
            held, or failed. A missing milestone was not watched, which is an error.
        deadline_s: For the whole grading, from when its turn has come (`turns`); None: what the
            task says (`grading.timeout_s`). A check that is still running then has failed on what
            the agent left, and so have the checks after it. If it takes as long in the untouched
            world, they are in error instead. The time of a judge is added: at most its
            `grading_s` for each criterion.
        judge: Decides the criteria of checks that ask a judge; None: the one in AGENTGYM_JUDGE.
        room_cache: Answers of clean rooms from earlier gradings of the task.
        start: The grading as it was started before its end was known; its runner is stopped. None:
            it starts now.

    Returns:
        The verdict, marked with the verifier's version; a broken rubric or check makes it
        ``error:verifier``. Its `state_hash` is empty if the deadline passed before the changes were
        hashed.

    Raises:
        SandboxError: The snapshots cannot be read.
    """
    start = start or GradingStart(instance)
    if deadline_s is None:
        deadline_s = instance.task.manifest.grading.timeout_s
    with contextlib.closing(start):
        async with GRADINGS.turn() as end_turn:
            verdict = await _graded(
                *(instance, end, prepared, start, end_turn),
                provider=provider,
                recipe=recipe,
                latched=latched,
                deadline_s=deadline_s,
                judge=judge,
                room_cache=room_cache,
            )
    if end.gave_up is not None and not instance.task.manifest.abstain:
        verdict = replace(verdict, outcome=False)
    if end.services is None:
        return verdict
    digest = functools.partial(_with_services, verdict.state_hash, end.services)
    return replace(verdict, state_hash=await in_thread(digest))


async def _graded(
    instance: Instance,
    end: EpisodeEnd,
    prepared: Prepared,
    start: GradingStart,
    end_turn: Callable[[], None],
    *,
    provider: SandboxProvider,
    recipe: Recipe,
    latched: Mapping[str, CheckResult],
    deadline_s: float,
    judge: Judge | None,
    room_cache: RoomCache | None,
) -> Verdict:
    """Run the checks; see `grade`."""
    runner = start.runner
    before = await provider.open_tree(prepared.snapshot)
    after = await provider.open_tree(end.after)
    verifier = await start.verifier()
    version, rubric = verifier.version, verifier.rubric
    if rubric is None:
        return replace(_broken(verifier.fault), verifier=version)
    try:
        if not verifier.asks_judge:
            judge = None
        elif judge is None:
            judge = await in_thread(judge_from_environment)
    except (VerifierError, ConfigError) as error:
        return replace(_broken(str(error)), verifier=version)
    if judge is not None:
        # A judge may take minutes, and no processor of this machine.
        end_turn()
    rooms = CleanRooms(
        *(provider, recipe, prepared.snapshot, after),
        commands_s=_COMMANDS_SHARE * deadline_s,
        # With a cache, the number of rooms that will start is unknown.
        expected=0 if room_cache is not None else _rooms_opened.get(version, 0),
        cache=room_cache,
    )
    evidence = _evidence(instance, end, prepared, before, after, rooms)
    evidence.judge_with = judge
    evidence.judge_limit_s = math.inf if judge is None else judge.grading_s
    milestones = {leaf.id: latched.get(leaf.id, _UNWATCHED) for leaf in rubric.milestones()}
    judging = _Judging(
        *(runner, Answers(evidence, rooms.open_packed), rooms, evidence, deadline_s),
        judged=judge is not None,
        volatile_paths=instance.task.manifest.replay.volatile_paths,
    )
    try:
        see = functools.partial(runner.see, evidence)
        verdict = await judging.judge(see, rubric, milestones)
    finally:
        runner.stop()
        await rooms.close()
        _rooms_opened[version] = rooms.opened
    words = _words(rubric, judged=judge is not None)
    return replace(verdict, verifier=version, words=words)


def _evidence(
    instance: Instance,
    end: EpisodeEnd,
    prepared: Prepared,
    before: FileTree,
    after: FileTree,
    rooms: CleanRooms,
) -> EpisodeEvidence:
    return EpisodeEvidence(
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
        requests=end.audit.requests,
        page_state=end.audit.page_state,
        services=end.services,
    )


class _Judging:
    """Runs the checks of one grading, until the deadline.

    Args:
        runner: Runs the checks.
        answers: Answers the checks' questions about the episode.
        rooms: The clean rooms that the checks may use.
        evidence: The evidence, which counts the time of the judge.
        deadline_s: For all checks and the state hash. The time that rooms take to start and the
            time of the judge are added to it.
        judged: Whether a judge is set.
        volatile_paths: Globs of paths that the state hash leaves out.
    """

    def __init__(
        self,
        runner: CheckRunner,
        answers: Answers,
        rooms: CleanRooms,
        evidence: EpisodeEvidence,
        deadline_s: float,
        *,
        judged: bool,
        volatile_paths: Sequence[str],
    ) -> None:
        self._runner, self._answers, self._rooms = runner, answers, rooms
        self._evidence = evidence
        self._deadline_s, self._until_s = deadline_s, time.monotonic() + deadline_s
        self._judged = judged
        self._pass = RubricPass(
            *(runner, answers, self._until), judged=judged, volatile_paths=volatile_paths
        )
        self._results: Mapping[str, CheckResult] = {}
        self._used_up = CheckResult(
            CheckStatus.ERROR, f"no result within the {deadline_s:g} s for grading"
        )

    def _until(self) -> float:
        started_s = min(self._rooms.waited_s, STARTING_S)
        return self._until_s + started_s + self._evidence.judged_s

    def run(self, id: str) -> CheckResult:
        """Return the result of a check; a broken check runs again in the untouched world."""
        if time.monotonic() >= self._until():
            return self._used_up
        self._answers.outage = ""
        found = self._pass.result(id, self._results)
        if isinstance(found, CheckResult):
            return found
        if self._answers.outage and not found.by_grader:
            found = replace(found, what=self._answers.outage, by_grader=True)
        if found.by_grader or self._rooms.waited_s > STARTING_S:
            return found.as_error()
        # Programs that the agent left may have used up the time of the commands.
        untouched_s = max(UNTOUCHED_S, _UNTOUCHED_SHARE * self._deadline_s)
        self._rooms.grant(untouched_s)
        until_s = time.monotonic() + untouched_s - self._evidence.judged_s
        again = self._runner.run(
            id, self._answers, lambda: until_s + self._evidence.judged_s, pristine=True
        )
        if isinstance(again, Broken):
            return found.as_error()
        if time.monotonic() >= self._until():
            # The checks that did not run were prevented by the same cause.
            why = f"{self._used_up.message}: {id!r} used them up on what the agent left"
            self._used_up = CheckResult(CheckStatus.FAIL, why)
        return CheckResult(CheckStatus.FAIL, tidy(BROKE + found.what), channels=found.channels)

    async def judge(
        self, see: Callable[[], None], rubric: Rubric, milestones: Mapping[str, CheckResult]
    ) -> Verdict:
        """Return the verdict, with the hash of the files."""
        results = LeafResults(self.run, milestones, self._rooms.retire)
        self._results = results

        def work() -> Verdict:
            see()
            verdict = evaluate(rubric, results, judged=self._judged)
            return replace(verdict, state_hash=self._pass.finish())

        judging = in_thread(work)
        try:
            # Every wait in the thread has its own time limit.
            while not judging.done():
                left_s = self._until() + STARTING_S + _SLACK_S - time.monotonic()
                if left_s <= 0:
                    break
                await asyncio.wait({judging}, timeout=left_s)
        finally:
            if not judging.done():
                results.stop(self._used_up.message)
                judging.cancel()
        if judging.cancelled():
            return evaluate(rubric, results, judged=self._judged)
        return judging.result()


def _with_services(files: str, services: ServicesSeen) -> str:
    """Return the digest of files and services; empty if the files were not hashed."""
    if not files:
        return ""
    return hashlib.sha256(f"{files}\n{services.hash}".encode()).hexdigest()


def _words(rubric: Rubric, *, judged: bool) -> Words:
    """Return whether a judge read the messages; empty if the rubric is not about messages."""
    reads = any(leaf.use.startswith(MESSAGES) for leaf in rubric.leaves())
    if not reads and not any(place.checkpoint.only_if_judged for place in rubric.placed()):
        return ""
    return "judged" if judged else "not judged"


def failed(instance: Instance, why: str) -> Verdict:
    """Return the verdict of an episode whose end cannot be examined: every checkpoint fails.

    Args:
        instance: The task with its parameters.
        why: What was seen and what was expected.
    """
    version = verifier_version(instance.task)
    if instance.task.foreign is not None:
        rules = CheckpointResult(RULES, Phase.OUTCOME, CheckStatus.FAIL, 0.0, 1.0, tidy(why))
        return Verdict("scored", outcome=False, score=0.0, checkpoints=(rules,), verifier=version)
    try:
        rubric = load_rubric(instance.task.folder / "checks" / "rubric.toml")
    except VerifierError as error:
        return replace(_broken(str(error)), verifier=version)
    results = LeafResults(lambda id: CheckResult(CheckStatus.FAIL, tidy(why)))
    verdict = evaluate(rubric, results, judged=False)
    words = _words(rubric, judged=False)
    return replace(verdict, outcome=False, score=0.0, verifier=version, words=words)


def _broken(why: str) -> Verdict:
    """Return the verdict of a rubric that cannot be used at all."""
    rubric = CheckpointResult("rubric", Phase.OUTCOME, CheckStatus.ERROR, 0.0, 1.0, tidy(why))
    return Verdict("error:verifier", outcome=False, score=0.0, checkpoints=(rubric,))
