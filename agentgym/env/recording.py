"""The record of one live episode, and of the forks of it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Final, Protocol, TypeVar

from agentgym.env.ending import OnEnd
from agentgym.env.keeping import StateKeeping
from agentgym.env.outcome import Ending, abandoned, failed
from agentgym.env.resources import SharedResources
from agentgym.env.transition import Transition
from agentgym.errors import DiskFullError, RecordError, UnsupportedError
from agentgym.record.recorder import PackedSteps
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Audit, Generation, Observation, Step, TokenUsage, Verdict
from agentgym.task.model import Instance

T = TypeVar("T")

_PICTURES_HELD: Final = 4
"""Newest steps whose pictures stay in memory; dialogues show the last ones again and again."""


class Recordable(Protocol):
    """The parts of an episode that are recorded, and where its recording is noted."""

    environment: SharedResources
    instance: Instance
    first: Observation
    steps: list[Step]
    audit: Audit
    reset_s: float
    began_s: float
    forked_at: int
    on_end: OnEnd | None
    recording: EpisodeRecording | None

    @property
    def prepared(self) -> str:
        """Digest of the state that the setup left; empty without a setup."""
        ...


class EpisodeRecording:
    """Records a live episode in a run; `begin` makes one.

    A player records steps and the end of its episode itself, because it knows more about them than
    the episode. An episode without one, such as a fork, is recorded as it is played. What is
    written is compressed and written on the run's own thread. When a call returns, it is on file.

    Args:
        store: The run, open for writing.
        episode_id: Id of the episode in the run. If it has steps, they stay: it is resumed.
        episode: The live episode, before its first step or just forked.
        has_player: Whether a player calls `take_steps` and `finish`.

    Raises:
        RecordError: It cannot be recorded, or is done.

    Attributes:
        episode_id: Id of the episode in the run.
        over: Whether the end is recorded.
        has_player: Whether a player calls `take_steps` and `finish`.
        earlier: The episode as it was recorded before; None if it was only planned.
    """

    def __init__(
        self, store: RunStore, episode_id: int, episode: Recordable, *, has_player: bool = True
    ) -> None:
        self.episode_id, self._store, self._episode = episode_id, store, episode
        self.over, self.has_player = False, has_player
        self._began_s, self._broken = time.monotonic(), ""
        with store.transaction():
            self._recorder = store.begin(
                episode_id,
                params=episode.instance.params,
                instruction=episode.instance.instruction,
                sandbox=episode.environment.provider.name,
                reset_s=episode.reset_s,
                first=episode.first,
            )
            store.endings.begin(episode_id, episode.began_s)
            if episode.prepared:
                store.setups.note(episode_id, episode.prepared)
            self.earlier = self._recorder.earlier
            # A resumed episode began when it was first started.
            first = store.endings.find(episode_id) if self.earlier is not None else None
            began_s = episode.began_s if first is None else first.began_s
        self._keeping = episode.on_end = StateKeeping(store, episode_id, began_s)
        self._recorded = self._begun_with = self._recorder.steps
        self._threads = store.threads
        episode.recording = self

    @classmethod
    async def begin(cls, store: RunStore, episode_id: int, episode: Recordable) -> EpisodeRecording:
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

    @staticmethod
    async def take_steps_of(
        store: RunStore, recordings: Collection[EpisodeRecording]
    ) -> list[tuple[EpisodeRecording, RecordError]]:
        """Record the steps of several episodes of a run that are not recorded yet, together.

        Returns:
            The recordings whose steps cannot be recorded; those of the others are on file.
        """
        try:
            return await store.threads.finish(_take_steps_of, store, recordings)
        except DiskFullError:
            # The steps of some may be small enough.
            return await store.threads.run(_failed_alone, recordings)

    def _take_steps(self) -> None:
        try:
            if (packed := self._pack()) is not None:
                self._store.write_steps([packed])
                self._taken(packed)
        except RecordError:
            # The steps before the one that cannot be recorded are not lost with it.
            while (packed := self._pack(1)) is not None:
                self._store.write_steps([packed])
                self._taken(packed)

    def _pack(self, most: int | None = None) -> PackedSteps | None:
        """Return the steps that are not recorded yet, None without one.

        Args:
            most: Largest number of steps.
        """
        steps, begin = self._episode.steps, self._recorded
        if self.over or begin >= len(steps):
            return None
        if begin == self._begun_with:
            self._recorder.follow(steps[:begin])
        return self._recorder.pack(steps[begin : None if most is None else begin + most])

    def _taken(self, packed: PackedSteps) -> None:
        """Note that steps are on file, and drop their pictures from memory but for the newest."""
        steps, first = self._episode.steps, max(0, self._recorded - _PICTURES_HELD)
        self._recorded += len(packed.rows)
        for old in range(first, self._recorded - _PICTURES_HELD):
            steps[old] = self._recorder.without_picture(steps[old])

    async def finish(
        self,
        ending: Ending,
        *,
        duration_s: float,
        refused: TokenUsage | None = None,
        generations: tuple[Generation, ...] | None = None,
    ) -> None:
        """Record the end of the episode, unless it is recorded already.

        Args:
            ending: The end of the episode.
            duration_s: Wall time of the whole episode, in seconds.
            refused: Tokens of replies that ended the episode and led to no step.
            generations: Those replies, None if they are not known.

        Raises:
            RecordError: It cannot be recorded.
        """

        def write() -> None:
            if self.over:
                return
            if len(self._episode.steps) - self._recorded > 1:
                self._take_steps()
            last = self._pack()
            try:
                with self._store.transaction():
                    if last is not None:
                        self._store.write_steps([last])
                    self._keeping.write()
                    self._recorder.finish(
                        ending.verdict,
                        duration_s=duration_s,
                        error=ending.reason,
                        audit=self._episode.audit,
                        refused=refused,
                        generations=generations,
                    )
            except BaseException:
                if last is not None:
                    self._recorder.withdraw(last)
                raise
            if last is not None:
                self._taken(last)
            self._keeping.drop()
            self.over = True

        await self._threads.finish(write)

    # --- without a player ------------------------------------------------------------------

    async def play(self, stepping: Awaitable[Transition]) -> Transition:
        """Await a step and record it, unless a player does that."""
        if self.has_player:
            return await stepping
        done = await self._awaited(stepping)
        with self._noting():
            await self.take_steps()
        if done.verdict is not None:
            await self._end(Ending(done.verdict, truncated=done.truncated))
        return done

    async def judge(self, judging: Awaitable[Verdict]) -> Verdict:
        """Await the verdict and record it, unless a player does that."""
        if self.has_player:
            return await judging
        verdict = await self._awaited(judging)
        await self._end(Ending(verdict))
        return verdict

    async def leave(self) -> None:
        """Record that the episode was closed before its end, unless a player does that.

        Never raises: a run that cannot be written keeps the episode as running, and the next
        writer of the run ends it.
        """
        if not self.has_player and not self.over and self._store.is_open:
            told = f"its record could not be written: {self._broken}" if self._broken else ""
            with contextlib.suppress(RecordError):
                await self._end(abandoned(told or "closed before its end"))

    async def fork(self, child: Recordable) -> None:
        """Begin the record of a fork: an episode of its own, which shares the steps so far.

        It has the plan of its parent, and no player.

        Raises:
            UnsupportedError: It is the fork of a fork of a fork, so often that no reader of the
                record would take it.
            RecordError: It cannot be recorded.
        """
        await self._threads.finish(self._fork, child)

    def _fork(self, child: Recordable) -> None:
        if self.over:
            raise RecordError(f"the record of episode {self.episode_id} is over; start another one")
        if not self._store.may_have_fork(self.episode_id):
            raise UnsupportedError("too many forks of forks come before this episode")
        self._take_steps()
        plan, at = self._store.episode(self.episode_id).plan, child.forked_at
        with self._store.transaction():
            forked = self._store.add(plan, (self.episode_id, at), shared=at, forked=True)
            EpisodeRecording(self._store, forked, child, has_player=False)

    async def _awaited(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except RecordError:
            raise
        except Exception as error:
            await self._end(failed(error))
            raise

    async def _end(self, ending: Ending) -> None:
        with self._noting():
            await self.finish(ending, duration_s=time.monotonic() - self._began_s)

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        """Keep the reason why something could not be recorded."""
        try:
            yield
        except RecordError as error:
            self._broken = str(error)
            raise


def _take_steps_of(
    store: RunStore, recordings: Collection[EpisodeRecording]
) -> list[tuple[EpisodeRecording, RecordError]]:
    try:
        packed = [(each, found) for each in recordings if (found := each._pack()) is not None]
        store.write_steps([found for _, found in packed])
    except DiskFullError:
        raise
    except RecordError:
        return _failed_alone(recordings)
    for recording, found in packed:
        recording._taken(found)
    return []


def _failed_alone(
    recordings: Collection[EpisodeRecording],
) -> list[tuple[EpisodeRecording, RecordError]]:
    """Record the steps of each episode by itself; return those that cannot be recorded."""
    failed = []
    for recording in recordings:
        try:
            recording._take_steps()
        except RecordError as error:
            failed.append((recording, error))
    return failed


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


def end_abandoned(store: RunStore, which: Callable[[EpisodeRow], bool]) -> None:
    """Record that episodes were abandoned: they are not over, and their process is gone.

    Args:
        store: The run, open for writing, so that no other process plays them.
        which: Selects the episodes.

    Raises:
        RecordError: It cannot be recorded.
    """
    for row in store.episodes():
        if row.state != "done" and which(row):
            ending = abandoned("the process that played it ended before the episode did")
            record_end(store, row, row.sandbox, ending, row.duration_s)
