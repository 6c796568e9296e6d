"""Plays an episode once more where a process that it shared with others ended it, or chance.

The second time it has such processes for itself. If they end again, the episode is to blame and is
judged, so that no policy leaves the mean by ending what episodes share. Of an episode that broke
and whose actions do not break another one, see `repetition`. The recorded steps are executed again
and the agent goes on from there: otherwise a policy that has failed could end the process to begin
anew, and would have the best of two attempts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from agentgym.record.store import RunStore


class Played(Protocol):
    """An episode or a tree after its end."""

    @property
    def error(self) -> str:
        """Why it has no score; empty if it has one."""

    @property
    def lost(self) -> bool:
        """Whether it can be played once more, see `Ending`."""


P = TypeVar("P", bound=Played)


async def once_more_if_lost(
    play: Callable[[str], Awaitable[P]],
    store: RunStore | None,
    episode_id: int | None,
    *,
    resumes: bool = True,
) -> P:
    """Return what was played, the first time or the second.

    Args:
        play: Plays it. Its argument is empty the first time, and then says why it is played again:
            it has to share no process with other episodes.
        store: Where it is recorded.
        episode_id: Which episode of the store it is.
        resumes: Whether what was played goes on from the recorded steps. Otherwise they are
            removed, and it begins anew.

    Raises:
        RecordError: It cannot be recorded.
    """
    played = await play("")
    if not played.lost:
        return played
    if store is not None and episode_id is not None:
        take_back = store.reopen_episode if resumes else store.reset_episode
        await store.threads.finish(take_back, episode_id)
    return await play(f"played again: {played.error}")
