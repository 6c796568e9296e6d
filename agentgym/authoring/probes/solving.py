"""Tests the solution: it loads, solves, repeats, survives reads, and parts of it score less."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from agentgym.authoring.afresh import differences
from agentgym.authoring.finding import DoesNotApplyError
from agentgym.authoring.prefixes import Prefix, prefixes
from agentgym.authoring.probes.answers import uncompared
from agentgym.authoring.probes.replies import unjudged
from agentgym.authoring.probes.words import not_solved, unscored
from agentgym.authoring.stage import Played
from agentgym.authoring.subject import InitialState, Subject
from agentgym.env.answer import check_action
from agentgym.env.dynamics import FAILED
from agentgym.env.spec import answer_of
from agentgym.errors import ActionError, TaskError
from agentgym.manifest import read_text, show_path
from agentgym.record.volatile.masking import Masking
from agentgym.record.volatile.times import Period
from agentgym.records import Action, Verdict
from agentgym.rollout.reexecution import compare
from agentgym.services.setup_context import load_change
from agentgym.task.model import Instance
from agentgym.task.reference_actions import read_cues, read_reference, solution
from agentgym.task.template import fill
from agentgym.task.user import FILE, RESULT
from agentgym.threads import to_thread
from agentgym.verify.checking import bind_checks
from agentgym.verify.judge.judged_checks import judged_checks
from agentgym.verify.judge.opening import HOW, judge_from_environment

_READ_FILES = 200
_TOLERANCE = 1e-9
_RECENT_S = 3600.0


async def binds(subject: Subject) -> Sequence[str]:
    """Bind the rubric, run the setup, and check the calls that solution and mutants make.

    Whatever is broken raises an error that says so.
    """
    if subject.task.foreign is not None:  # its own tests judge it, and it has no rubric
        await subject.initial_state()
        return []
    for seed in subject.seeds:
        bind_checks(subject.instance(seed))
    asking = judged_checks(subject.task.folder / "checks", demanded=True)
    if asking and (subject.stage.judge or judge_from_environment()) is None:
        # Otherwise every episode of every probe would report it.
        return [f"{', '.join(asking)} asks a judge and none is set; {HOW}"]
    for event in subject.task.manifest.event:
        if event.run is not None and event.run.endswith(".py"):
            load_change(subject.task.folder / event.run, TaskError)
    await subject.initial_state()
    return [*_illegal_calls(subject), *uncompared(subject.task), *unjudged(subject.task)]


def _illegal_calls(subject: Subject) -> list[str]:
    """Return the illegal actions of solution and mutants, each once for all seeds."""
    complaints: dict[str, str] = {}
    manifest = subject.task.manifest
    for path in (solution(subject.task), *subject.task.mutants().values()):
        if isinstance(read_reference(path, subject.instance()), Path):
            continue  # its calls show when it plays
        for seed in subject.seeds:
            for cue in read_cues(path, subject.instance(seed)):
                try:
                    check_action(
                        cue.action, subject.calls, answer_of(subject.task), manifest.replies
                    )
                except ActionError as error:
                    complaints.setdefault(cue.where, f"{cue.where}: {error}")
    return list(complaints.values())


async def solves(subject: Subject) -> Sequence[str]:
    """Play the solution twice."""
    takes = await asyncio.gather(*(subject.oracle(take=take) for take in range(2)))
    return [
        complaint
        for number, played in enumerate(takes, start=1)
        for complaint in (
            # The exit of the script tells more than the low score that follows from it.
            *_failed_script(f"solution, run {number}", subject, played),
            *not_solved(f"solution, run {number}", played),
            *_failed_events(f"solution, run {number}", played),
        )
    ][:1]


def _failed_script(what: str, subject: Subject, played: Played) -> list[str]:
    if subject.task.foreign is not None or not played.steps:
        return []
    path = solution(subject.task)
    seen = played.steps[0].observation.data
    # In a list of actions a call may fail on purpose; a script must succeed as a whole.
    if path.suffix != ".sh" or not (seen.get("exit_code") or seen.get("timed_out")):
        return []
    how = f"ended with exit code {seen.get('exit_code')}"
    if seen.get("timed_out"):
        how = "did not end in time"
    return [f"{what}: the script {how}, expected exit code 0; mend {show_path(path)}"]


def _failed_events(what: str, played: Played) -> list[str]:
    return [
        f"{what}: event {event.id} after step {step.index}: {event.detail}; "
        "the solution must leave what it needs, or the script is broken"
        for step in played.steps
        for event in step.events
        if FAILED in event.detail
    ]


async def repeats(subject: Subject) -> Sequence[str]:
    """Compare runs of the setup, then two of the solution: observations, state and verdict."""
    if complaints := await differences(subject):
        return complaints
    first, second = await asyncio.gather(*(subject.oracle(take=take) for take in range(2)))
    if complaints := unscored("solution", first) or unscored("solution", second):
        return complaints
    if subject.task.foreign is not None:
        raise DoesNotApplyError("its tests judge a live sandbox, whose files are not compared")
    if not first.verdict.state_hash:
        return ["solution: there was no time to hash what it left; expected a state hash"]
    declared = tuple(subject.task.manifest.replay.volatile_text)
    ended_s = time.time()
    masking = Masking((Period(ended_s - _RECENT_S, ended_s),), declared)
    # An application that draws its screen at its own pace shows other views in equal runs.
    is_steady = not subject.task.manifest.replay.volatile_screen
    for before, after in zip(first.steps, second.steps, strict=False) if is_steady else ():
        if difference := compare(
            *(before.index, before.observation, after.observation), masking, before.action
        ):
            return [f"{difference}; mask it with replay.volatile_text or make it the same"]
    if first.verdict.state_hash != second.verdict.state_hash:
        return [
            "two runs of the solution leave different files or rows; name paths that may differ "
            "in replay.volatile_paths or make it the same"
        ]
    differing = judged_differently(first, second)
    return [f"the same end was judged twice and differently: {differing}"] if differing else []


def judged_differently(first: Played, second: Played) -> str:
    """Return how the verdicts of two runs with the same end differ; empty if they do not.

    A policy that waits for a screen may need another number of calls. Milestones are reached in
    other steps then, and messages may name them, so neither is compared.
    """
    one, other = first.verdict, second.verdict
    if [step.action for step in first.steps] != [step.action for step in second.steps]:
        one, other = _without_steps(one), _without_steps(other)
    if one == other:
        return ""
    told, now = ([f"{c.id}: {c.message}" for c in v.checkpoints] for v in (one, other))
    differing = [f"{a!r} and {b!r}" for a, b in zip(told, now, strict=False) if a != b]
    return "; ".join(differing) or f"scores {one.score:.4g} and {other.score:.4g}"


def _without_steps(verdict: Verdict) -> Verdict:
    results = [replace(result, message="", step=None) for result in verdict.checkpoints]
    return replace(verdict, checkpoints=tuple(results))


async def reads(subject: Subject) -> Sequence[str]:
    """Play the solution with harmless reads in between."""
    before: list[Action] = []
    after: list[Action] = []
    if "bash" in subject.tools:
        before = after = _look_around(await subject.initial_state())
    if (sampled_calls := await subject.sampled_calls()) is not None:
        before, after = [*before, *sampled_calls.reads(0)], [*after, *sampled_calls.reads(1)]
    if not before:
        raise DoesNotApplyError("the environment has neither a shell nor services to read")
    if _goes_by_the_step(subject):
        # Reads would shift the steps at which events happen.
        before = []
    *work, end = await subject.solution()
    played = await subject.play([*before, *work, *after, end])
    failed = [
        f"{step.action.tool}: {step.observation.text}"
        for step in played.steps
        if "error: internal" in step.observation.text
    ]
    return [*failed[:1], *not_solved("solution with reads", played)]


def _goes_by_the_step(subject: Subject) -> bool:
    """Return whether an event depends on a step, a time, or the number of a call."""
    manifest = subject.task.manifest
    return bool(manifest.fault) or any(event.when is None for event in manifest.event)


def _look_around(initial: InitialState) -> list[Action]:
    folders = shlex.join(initial.folders)
    files = initial.files[:_READ_FILES]
    commands = [
        f"ls -laR {folders} 2>/dev/null | head -n 2000",
        "pwd; id; env; ps aux | head -n 50",
    ]
    if files:
        commands.append(f"cat -- {shlex.join(files)} | head -c 200000 | tr -d '\\0'")
    looks = [Action("bash", {"command": command}) for command in commands]
    return [*looks, Action("read_file", {"path": (*files, "/no/such/file")[0]})]


async def partial(subject: Subject) -> Sequence[str]:
    """Play ever longer beginnings of the solution."""
    if subject.task.foreign is not None:
        raise DoesNotApplyError("its reward may be all or nothing")
    parts = await to_thread(prefixes, await subject.solution())
    if not parts:
        raise DoesNotApplyError("the solution is one statement")
    whole, *played = await asyncio.gather(
        subject.oracle(), *(subject.play(part.actions) for part in parts)
    )
    complaints: list[str] = []
    for part, got in zip(parts, played, strict=True):
        complaints += unscored(part.name, got)
        same_end = got.verdict.state_hash == whole.verdict.state_hash
        if got.verdict.outcome and not same_end and not await _ends_alike(subject, part):
            complaints.append(
                f"{part.name}: passes already, though the rest of the solution changes something"
            )
    steps = [*zip([p.name for p in parts], played, strict=True), ("the whole solution", whole)]
    for (name, less), (longer, more) in pairwise(steps):
        if more.verdict.scored and less.verdict.score > more.verdict.score + _TOLERANCE:
            complaints.append(
                f"{name} scores {less.verdict.score:.4g}, more than {longer} with "
                f"{more.verdict.score:.4g}"
            )
    return complaints


async def _ends_alike(subject: Subject, part: Prefix) -> bool:
    """Return whether a beginning leaves the same state as the whole, except scratch files."""
    tidy = subject.without_scratch()
    less, whole = await asyncio.gather(tidy.play(part.actions), tidy.oracle())
    return less.verdict.state_hash == whole.verdict.state_hash


async def template(subject: Subject) -> Sequence[str]:
    """Build, solve and compare the instances of the seeds."""
    if not subject.task.manifest.params:
        raise DoesNotApplyError("no [params]")
    played = await asyncio.gather(*(subject.oracle(seed) for seed in subject.seeds))
    complaints = [
        complaint
        for seed, got in zip(subject.seeds, played, strict=True)
        for complaint in not_solved(f"seed {seed}: solution", got)
    ]
    initials = [await subject.initial_state(seed) for seed in subject.seeds]
    distinct = {repr(sorted(initial.instance.params.items())) for initial in initials}
    if len(initials) > 1 and len(distinct) == 1:
        complaints.append(f"seeds {_listed(subject.seeds)} draw the same parameters")
    for first, second in pairwise(initials):
        if first.instance.params != second.instance.params and await _alike(subject, first, second):
            complaints.append(
                f"seeds {first.instance.seed} and {second.instance.seed} draw different "
                "parameters and give the same instruction, the same files and the same rows"
            )
    return complaints


async def _alike(subject: Subject, first: InitialState, second: InitialState) -> bool:
    if first.instance.instruction != second.instance.instruction:
        return False
    if subject.task.user is not None and _user(first.instance) != _user(second.instance):
        return False
    rows = [initial.services.hash for initial in (first, second) if initial.services is not None]
    if len(set(rows)) > 1:
        return False
    return not await first.provider.compare(first.snapshot, second.snapshot)


def _user(instance: Instance) -> str:
    path = instance.task.folder / FILE
    return fill(RESULT.sub("", read_text(path, TaskError)), instance.params, path)


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))
