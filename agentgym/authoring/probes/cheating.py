"""The red team: cheats, none of which may score anything.

Cheats that only plant files are played in one episode, for a task has many and time is short.
Where the whole scores, or a checkpoint of the outcome gives credit behind a gate that is shut,
each is played alone: a gate that one of them shut must not hide another.

Some cheats keep the tests of a foreign task waiting (at a pipe that nobody fills), and those may
have a quarter of an hour: here they get a multiple of what the solution took with its tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentgym.authoring.finding import DoesNotApplyError
from agentgym.authoring.probes.words import not_zero
from agentgym.authoring.redteam import Cheat, load_cheats
from agentgym.authoring.stage import Played
from agentgym.authoring.subject import Subject
from agentgym.records import Phase

_TESTS_S, _TESTS_FACTOR = 60.0, 4.0


async def cheats(subject: Subject) -> Sequence[str]:
    """Play every cheat."""
    if "bash" not in subject.tools:
        raise DoesNotApplyError("the environment has no shell")
    teams = load_cheats(await subject.ground())
    if subject.task.foreign is not None:
        solved = await subject.oracle()
        subject = subject.with_tests_within(max(_TESTS_S, _TESTS_FACTOR * solved.duration_s))
    found = await asyncio.gather(*(_team(subject, team) for team in teams))
    return [complaint for complaints in found for complaint in complaints]


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
