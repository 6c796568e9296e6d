"""Tells an episode that its actions broke from one that broke by chance, by executing them again.

An episode that a broken sandbox or a bug ends has no score. But an agent may cause them. Where the
same actions break four other episodes at the same place, and one without actions is judged after
each but the last, they did, and the episode has failed. Where the actions come to an end in another
one, its verdict is theirs. Where they neither break it nor come to an end, the episode can go on
from its record, see `again`. The policy is not asked again for what it has done, so that breaking
an episode is no second attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
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
"""Seconds that each repetition has at least."""

_BROKE = "its actions break the episode, and without them it is judged"

_BREAKS = 4
"""Episodes that the actions have to break. A machine that fails at some rate at one place, and as
often where an untouched episode is judged, does that to at most 0.5 % of the honest episodes."""

_TRIES = 8
"""Episodes in which the actions are executed at most; some may break at another place."""

Acted: TypeAlias = Sequence[tuple[Decision, Sequence[StepEvent]]]
"""Decisions, with the events that were recorded with them."""


async def ending_by_its_actions(
    ended: Ending, episode: Episode, last: tuple[int, Decision] | None, within_s: float
) -> Ending:
    """Return the ending by the actions of an episode that broke, or the given one.

    Args:
        ended: How the episode ended.
        episode: The episode, with the steps that it could take. If its last action did
            not become a step, and another episode takes and judges it, it is added.
        last: The newest decision and its number; it may have broken the episode before it became a
            step. None if all actions are steps.
        within_s: Wall time that its agent had, in seconds; each repetition has as much.
    """
    acted = [(step.decision, step.events) for step in episode.steps]
    if last is not None and last[0] == len(acted):
        acted.append((last[1], ()))
    # What has lost a process that episodes share goes on alone, see `again`.
    if not acted or ended.lost or ended.verdict.status not in _BROKEN:
        return ended
    # A mail to the world would be sent several times.
    if episode.environment.reaches_out:
        return ended
    try:
        # An agent that acts for as long as it may must not take the time of what follows.
        async with asyncio.timeout((_BREAKS + 1) * within_s):
            found = await _executed_again(ended, episode, acted)
    except TimeoutError:
        return ended
    if found is not None:
        return found
    why = f"{_BROKE}: {ended.error}"
    return Ending(await to_thread(failed_verdict, episode.instance, why), why)


async def _executed_again(ended: Ending, episode: Episode, acted: Acted) -> Ending | None:
    """Return the ending that other episodes tell, None if the actions break them."""
    breaks = 0
    for _ in range(_TRIES):
        again = await _play(episode, acted)
        if isinstance(again, Verdict):
            return Ending(again) if again.scored else ended
        if again is None:
            return replace(ended, lost=True)
        if again < len(acted) - 1:
            # A machine that fails now and then breaks them anywhere.
            continue
        breaks += 1
        if breaks == _BREAKS:
            return None
        if not await _is_judged_untouched(episode):
            break
    return ended


def is_broken(verdict: Verdict) -> bool:
    """Return whether a verdict says that actions break the episode, so that it has no end."""
    told = any(checkpoint.message.startswith(_BROKE) for checkpoint in verdict.checkpoints)
    return told and verdict.score == 0.0 and not verdict.state_hash


def told_of(ended: Ending, last: tuple[int, Decision] | None) -> str:
    """Return the line of the log that tells of a repetition, and of the newest decision."""
    action = "" if last is None else f" in {last[1].action.tool} {dict(last[1].action.arguments)}"
    return f"the episode broke{action[:500]}: {ended.error}; its actions were executed again"


async def _is_judged_untouched(episode: Episode) -> bool:
    verdict = await _play(episode, ())
    return isinstance(verdict, Verdict) and verdict.scored


async def _play(episode: Episode, acted: Acted) -> Verdict | int | None:
    """Execute actions in another episode; without actions, judge an untouched one.

    Returns:
        The verdict; or how many actions were executed before it broke, -1 if it did not start; or
        None if it did not break and is not over.
    """
    executed = -1
    try:
        async with await episode.anew(alone=True) as other:
            executed = 0
            # What is judged is the end of the recorded episode.
            other.on_end = episode.on_end if acted else None
            for decision, events in acted:
                done = await other.step(decision, recorded=events)
                if done.verdict is not None:
                    # The action that broke the episode is a step of this one.
                    episode.steps += other.steps[len(episode.steps) :]
                    episode.audit = other.audit
                    return done.verdict
                executed += 1
            if acted and not episode.over:
                return None
            # Where judging broke it, the other one is judged as well.
            verdict = await other.finish()
            if acted:
                episode.audit = other.audit
            return verdict
    except Exception as error:  # noqa: BLE001 - the caller compares where it breaks
        # An episode that ends in another way, such as a user who is down, says nothing.
        return executed if failed(error).verdict.status in _BROKEN else -1
