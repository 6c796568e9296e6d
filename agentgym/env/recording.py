"""The record of one live episode, played by an agent's rollout or the Gymnasium class."""

from __future__ import annotations

from agentgym.env.episode import Episode
from agentgym.env.keeping import StateKeeping
from agentgym.env.outcome import Ending
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Generation, TokenUsage


class EpisodeRecording:
    """Records a live episode in a run; `begin` makes one.

    The episode itself does not know of it: it is recorded after each step and at its end. What is
    written is compressed and written on the run's own thread. When a call returns, it is on file.

    Args:
        store: The run, open for writing.
        episode_id: Id of the episode in the run. If it has steps, they stay: it is resumed.
        episode: The live episode, before its first step.

    Raises:
        RecordError: It cannot be recorded, or is done.

    Attributes:
        episode_id: Id of the episode in the run.
        over: Whether the end is recorded.
    """

    def __init__(self, store: RunStore, episode_id: int, episode: Episode) -> None:
        self.episode_id, self._episode = episode_id, episode
        self.over = False
        store.endings.begin(episode_id, episode.began_s)
        episode.on_end = StateKeeping(store, episode_id)
        if episode.prepared:
            store.setups.note(episode_id, episode.prepared)
        self._recorder = store.begin(
            episode_id,
            params=episode.instance.params,
            instruction=episode.instance.instruction,
            sandbox=episode.environment.provider.name,
            reset_s=episode.reset_s,
            first=episode.first,
        )
        self._recorded = self._recorder.steps
        self._threads = store.threads

    @classmethod
    async def begin(cls, store: RunStore, episode_id: int, episode: Episode) -> EpisodeRecording:
        """Mark the recorded episode as running and return its recording.

        Raises:
            RecordError: It cannot be recorded, or is done.
        """
        return await store.threads.finish(cls, store, episode_id, episode)

    async def note(self, *lines: str) -> None:
        """Add lines to the episode's log; empty ones are left out."""
        await self._threads.finish(self._recorder.note, "\n".join(filter(None, lines)))

    async def take_steps(self) -> None:
        """Record all steps of the episode that are not recorded yet.

        Raises:
            RecordError: One of them cannot be recorded.
        """
        await self._threads.finish(self._take_steps)

    def _take_steps(self) -> None:
        for step in self._episode.steps[self._recorded :]:
            self._recorder.step(step)
            self._recorded += 1

    async def finish(
        self,
        ending: Ending,
        *,
        duration_s: float,
        refused: TokenUsage | None = None,
        generations: tuple[Generation, ...] | None = None,
    ) -> None:
        """Record the end of the episode.

        Args:
            ending: The end of the episode.
            duration_s: Wall time of the whole episode, in seconds.
            refused: Tokens of replies that ended the episode and led to no step.
            generations: Those replies, None if they are not known.

        Raises:
            RecordError: It cannot be recorded.
        """

        def write() -> None:
            self._take_steps()
            self._recorder.finish(
                ending.verdict,
                duration_s=duration_s,
                error=ending.reason,
                audit=self._episode.audit,
                refused=refused,
                generations=generations,
            )
            self.over = True

        await self._threads.finish(write)


def record_end(
    store: RunStore, row: EpisodeRow, sandbox: str, ending: Ending, spent_s: float
) -> None:
    """Record the end of an episode that is not live: it could not be started, or its process died.

    Its earlier steps stay. It waits for the disk; an event loop calls it on ``store.threads``.

    Args:
        store: The run, open for writing.
        row: The episode as recorded.
        sandbox: Name of the sandbox provider.
        ending: The end of the episode.
        spent_s: Wall time of the attempt.

    Raises:
        RecordError: It cannot be recorded.
    """
    recorder = store.begin(
        row.id,
        params=row.params,
        instruction=row.instruction,
        sandbox=sandbox,
        reset_s=row.reset_s,
        first=row.first,
    )
    recorder.finish(ending.verdict, duration_s=spent_s, error=ending.reason)
