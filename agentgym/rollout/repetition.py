"""Whose doing it is that an episode broke: its actions are executed again, without its policy.

A sandbox that breaks and a bug are nobody's doing, and an episode that they end has no score. But
an agent may cause them. Where the same actions break two other episodes, and one without actions
between them is judged, they did, and the episode has failed. Where the actions come to an end in
another one, its verdict is theirs. The policy is not asked again, so that breaking an episode is no
second attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeAlias

from agentgym.env.episode import Episode
from agentgym.env.outcome import Ending, failed
from agentgym.errors import SandboxError, ServiceError, SurfaceError
from agentgym.records import Decision, StepEvent, Verdict
from agentgym.threads import to_thread
from agentgym.verify.grade import failed as failed_verdict

_BROKEN = frozenset(
    f"error:{boundary}"
    for boundary in (*(e.boundary for e in (SandboxError, SurfaceError, ServiceError)), "engine")
)


REPETITION_S = 300.0
"""Seconds that a repetition has at least."""

_TURNS = 2

Acted: TypeAlias = Sequence[tuple[Decision, Sequence[StepEvent]]]
"""Decisions, with the events that were recorded with them."""


async def ending_by_its_actions(
    ended: Ending, episode: Episode, last: tuple[int, Decision] | None, within_s: float
) -> Ending:
    """Return the ending by the actions of an episode that broke, or the given one.

    Args:
        ended: How the episode ended.
        episode: The episode, with the steps that it could take.
        last: The newest decision and its number; it may have broken the episode before it became a
            step. None if there is none beside the steps.
        within_s: Wall time of the repetition, in seconds; what takes longer says nothing.
    """
    acted = [(step.decision, step.events) for step in episode.steps]
    if last is not None and last[0] == len(acted):
        acted.append((last[1], ()))
    # What has lost a process that episodes share goes on alone, see `again`.
    if not acted or ended.lost or ended.verdict.status not in _BROKEN:
        return ended
    try:
        async with asyncio.timeout(within_s):
            # A machine that fails now and then would break the first of them by chance.
            for turn in range(_TURNS):
                again = await _play(episode, acted)
                if isinstance(again, Verdict):
                    return Ending(again) if again.scored else ended
                if again is None:
                    return ended
                if turn == 0 and not await _is_judged_untouched(episode):
                    return ended
    except TimeoutError:
        return ended
    why = f"its actions break the episode, and without them it is judged: {ended.error}"
    return Ending(await to_thread(failed_verdict, episode.instance, why), why)


def told_of(ended: Ending) -> str:
    """Return the line of the log that tells of a repetition."""
    return f"the episode broke: {ended.error}; its actions were executed again"


async def _is_judged_untouched(episode: Episode) -> bool:
    verdict = await _play(episode, ())
    return isinstance(verdict, Verdict) and verdict.scored


async def _play(episode: Episode, acted: Acted) -> Verdict | Exception | None:
    """Return the verdict of actions, the error that they end in, or None if they end in neither.

    Without actions an episode that nobody acts in is judged.
    """
    try:
        async with await episode.anew(alone=True) as other:
            for decision, events in acted:
                done = await other.step(decision, recorded=events)
                if done.verdict is not None:
                    return done.verdict
            # Where judging broke it, the other one is judged as well.
            return await other.finish() if episode.over or not acted else None
    except Exception as error:  # noqa: BLE001 - the caller compares what breaks
        return error if failed(error).verdict.status in _BROKEN else None
