"""Plays what must not succeed: silence, refusal, random calls, and the task's own mutants."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentgym.authoring.finding import DoesNotApplyError
from agentgym.authoring.probes.words import not_zero, passing, unscored
from agentgym.authoring.subject import Subject
from agentgym.records import Action
from agentgym.task.reference_actions import read_reference

RANDOM_STEPS = 10
_PASSING_SCORE = 0.5


async def nothing(subject: Subject) -> Sequence[str]:
    """Submit at once, for every distinct instance."""
    # Without parameters all seeds give the same instance.
    seeds = subject.seeds if subject.task.manifest.params else subject.seeds[:1]
    played = await asyncio.gather(*(subject.let("noop", seed=seed) for seed in seeds))
    return [
        complaint
        for seed, got in zip(seeds, played, strict=True)
        for complaint in not_zero(f"seed {seed}: doing nothing", got)
    ]


async def refusal(subject: Subject) -> Sequence[str]:
    """Give up at once."""
    if subject.task.manifest.abstain:
        raise DoesNotApplyError("giving up can be right")
    refused = Action("give_up", {"reason": "I would rather not."})
    return not_zero("giving up", await subject.play([refused]))


async def chance(subject: Subject) -> Sequence[str]:
    """Let the random agent take a few steps, for every seed."""
    played = await asyncio.gather(
        *(subject.let("random", seed=seed, max_steps=RANDOM_STEPS) for seed in subject.seeds)
    )
    complaints = []
    for seed, got in zip(subject.seeds, played, strict=True):
        complaints += passing(f"seed {seed}: random calls", got)
    scores = [got.verdict.score for got in played if got.verdict.scored]
    if scores and sum(scores) / len(scores) >= _PASSING_SCORE:
        mean = sum(scores) / len(scores)
        complaints.append(f"random calls: expected a mean score below 0.5, got {mean:.4g}")
    return complaints


async def mutants(subject: Subject) -> Sequence[str]:
    """Play every mutant."""
    paths = subject.task.mutants()
    if not paths:
        raise DoesNotApplyError("no mutants; write wrong solutions that must not pass")
    instance = subject.instance()
    played = await asyncio.gather(
        *(subject.play(read_reference(path, instance)) for path in paths.values())
    )
    return [
        complaint
        for name, got in zip(paths, played, strict=True)
        for complaint in passing(f"mutant {name}", got) or unscored(f"mutant {name}", got)
    ]
