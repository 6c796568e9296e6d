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


_TURNS = 2

Acted: TypeAlias = Sequence[tuple[Decision, Sequence[StepEvent]]]
"""Decisions, with the events that were recorded with them."""


async def ending_by_its_actions(
    ended: Ending, episode: Episode, acted: Acted, within_s: float
) -> Ending:
    """Return the ending by the actions of an episode that broke, or the given one.

    Args:
        ended: How the episode ended.
        episode: The episode.
        acted: All that was decided in it, with the decision that was executed when it broke.
        within_s: Wall time of the repetition; what takes longer says nothing.
    """
    if not acted or ended.verdict.status not in _BROKEN:
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
            return None if acted else await other.finish()
    except Exception as error:  # noqa: BLE001 - the caller compares what breaks
        return error if failed(error).verdict.status in _BROKEN else None
