"""Plays cheats of the red team; a cheat must not score.

Cheats that only plant files are played together in one episode to save time. If that episode
scores, or a checkpoint of the outcome gives credit behind a closed gate, each is played alone: a
gate that one cheat closes must not hide another cheat. If the task has services, writes beyond the
request must lower the score, too.

Some cheats make the tests of a foreign task wait at a pipe that has no writer, and such tests may
have a quarter of an hour. Here they get a multiple of the time that the solution and tests took.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentgym.authoring.finding import DoesNotApplyError
from agentgym.authoring.probes.words import not_zero, passing
from agentgym.authoring.redteam import Cheat, load_cheats
from agentgym.authoring.redteam.service_cheats import service_cheats
from agentgym.authoring.stage import Played
from agentgym.authoring.subject import Subject
from agentgym.records import Effect, Phase
from agentgym.verify.values import brief

_TESTS_S, _TESTS_FACTOR = 60.0, 4.0


async def cheats(subject: Subject) -> Sequence[str]:
    """Play every cheat."""
    if "bash" not in subject.tools and subject.services is None:
        raise DoesNotApplyError("the environment has neither a shell nor services")
    teams = load_cheats(await subject.initial_state()) if "bash" in subject.tools else []
    callers = [(team, cheat) for team in await service_cheats(subject) for cheat in team.cheats]
    if subject.task.foreign is not None:
        solved = await subject.oracle()
        subject = subject.with_tests_within(max(_TESTS_S, _TESTS_FACTOR * solved.duration_s))
    found = await asyncio.gather(
        *(_team(subject, team) for team in teams),
        *(_caller(subject, cheat, claims=team.claims) for team, cheat in callers),
    )
    return [complaint for complaints in found for complaint in complaints]


async def _caller(subject: Subject, cheat: Cheat, *, claims: bool) -> list[str]:
    what, played = f"cheat {cheat.name}", await subject.play(cheat.actions)
    return not_zero(what, played) if claims else passing(what, played)


async def excess(subject: Subject) -> Sequence[str]:
    """Play the solution with one unrequested write: an addition and a change by every tool."""
    sampled_calls = await subject.sampled_calls()
    if sampled_calls is None:
        raise DoesNotApplyError("the environment has no services")
    *work, end = await subject.solution()
    drawn = (*sampled_calls.additions(), *sampled_calls.changes())
    extras = {f"{a.tool} with {a.arguments}": [a] for a in drawn}
    if sampled_calls.adds_rows(work):
        extras["all of its calls once more"] = work
    played = await asyncio.gather(*(subject.play([*work, *more, end]) for more in extras.values()))
    complaints = []
    for (what, more), got in zip(extras.items(), played, strict=True):
        last = got.steps[len(work) : len(work) + len(more)]
        if any(step.observation.effect is Effect.CHANGED for step in last) and _is_full(got):
            complaints.append(
                f"the solution and then {brief(what)} scores 1 without a violation; refuse "
                "unrequested writes with services.only_changed"
            )
    return complaints


def _is_full(played: Played) -> bool:
    verdict = played.verdict
    return verdict.outcome and verdict.score == 1 and not verdict.safety_violations


async def _team(subject: Subject, team: Sequence[Cheat]) -> list[str]:
    if len(team) > 1:
        *others, last = team
        together = [action for cheat in others for action in cheat.actions[:-1]]
        played = await subject.play([*together, *last.actions])
        if not _suspicious(played):
            return []
    return [complaint for cheat in team for complaint in await _alone(subject, cheat)]


async def _alone(subject: Subject, cheat: Cheat) -> list[str]:
    return not_zero(f"cheat {cheat.name}", await subject.play(cheat.actions))


def _suspicious(played: Played) -> bool:
    verdict = played.verdict
    credited = any(c.score > 0 for c in verdict.checkpoints if c.phase is Phase.OUTCOME)
    return not verdict.scored or verdict.outcome or verdict.score > 0 or credited
