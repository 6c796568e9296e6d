"""One episode of a session: one operation at a time, recorded, and judged when it ends.

It follows the rules of `agentgym.rollout.run`. An episode that its caller leaves, or whose time is
over, is judged in its present state. If the server ends it, or a boundary breaks, it has no score.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.env.outcome import Ending, failed
from agentgym.env.recording import EpisodeRecording, record_end
from agentgym.errors import AgentError, PolicyError, UnsupportedError
from agentgym.records import Decision, Json, Observation, Verdict
from agentgym.rollout.policy import OutOfTimeError
from agentgym.rollout.repetition import REPETITION_S, ending_by_its_actions, told_of
from agentgym.rollout.run import LONGEST_S
from agentgym.session.answers import Answer, EpisodeState, Failure, FailureCode, Reply
from agentgym.session.calls import detached_task
from agentgym.session.config import SessionConfig
from agentgym.session.ended import refusal, tell_end, unrecorded
from agentgym.session.step_writer import StepWriter

ABORT_S: Final = 5.0
"""Longest time in seconds for an operation to stop when the server does not wait for it."""

T = TypeVar("T")


class SessionEpisode:
    """One episode of a session.

    Args:
        id: Id within the session.
        task: Name of its task in the record.
        environment: The environment of the task.
        config: The terms of the session.
        writer: Records the steps, unless each is on file before it is answered.

    Attributes:
        id: Id within the session.
        parent: Id of the episode from which it was forked, else empty.
        over: Whether it is over, or could not be started.
        quiet_since_s: Time at which its last operation ended, by `time.monotonic`.
    """

    def __init__(
        self,
        id: str,
        task: str,
        environment: Environment,
        config: SessionConfig,
        writer: StepWriter,
    ) -> None:
        self.id, self.parent, self.over = id, "", False
        self._task, self._environment, self._config = task, environment, config
        self._writer = writer
        self._seed = self._steps = 0
        self._recorded_as = 0  # until it is in the run, whose numbers begin at 1
        self._episode: Episode | None = None
        self._recording: EpisodeRecording | None = None
        self._ending = failed(AgentError("the episode did not begin"))
        self._last = Observation("")
        self._began_s = self._acting_since_s = self.quiet_since_s = time.monotonic()
        wall_s = environment.task.manifest.limits.wall_s or LONGEST_S
        self._wall_s = wall_s if config.timeout_s is None else config.timeout_s
        self._turn = asyncio.Lock()
        self._work: asyncio.Task[Any] | None = None
        self._timer: asyncio.Task[None] | None = None
        self._stopped: Exception | None = None
        self._write_error: Exception | None = None

    @property
    def busy(self) -> bool:
        """Whether an operation is running."""
        return self._work is not None and not self._work.done()

    @property
    def _is_being_judged(self) -> bool:
        """Whether its steps are over and its verdict is not recorded yet."""
        return self._episode is not None and self._episode.over

    def state(self) -> EpisodeState:
        """Return its state for a caller that comes back."""
        steps = self._steps if self._episode is None else len(self._episode.steps)
        return EpisodeState(
            *(self.id, self._task, self._seed, steps, self.over, self.parent, self._recorded_as)
        )

    # --- operations; each returns its answer, and raises nothing of the engine --------------

    async def start(self, seed: int, plan: Callable[[], int]) -> Answer:
        """Begin it; one that cannot be started is over, and recorded without a score.

        Args:
            seed: Seed of the episode.
            plan: Adds it to the run and returns its number there; called on the run's thread.
        """
        self._seed = seed
        return await self._alone(lambda: self._start(plan))

    async def start_as_fork(self, parent: SessionEpisode) -> Answer:
        """Begin it in the state of another one, which goes on whatever happens."""
        self.parent = parent.id
        return await self._alone(lambda: self._start_as_fork(parent))

    async def step(self, decision: Decision) -> Answer:
        """Execute one action."""
        return await self._alone(lambda: self._step(decision))

    async def finish(self) -> Answer:
        """End it and judge its present state."""

        async def finish() -> Answer:
            last = self._last
            await self._judge(Ending)
            return self._ended(Reply(self.id, last, terminated=True))

        return await self._alone(finish)

    async def leave(self, why: Exception) -> None:
        """End it after the running operation, and for a `PolicyError` after those that wait.

        Args:
            why: A `PolicyError` if the caller left, an `OutOfTimeError` if its time is over: the
                present state is judged. An `AgentError` if the server ends it: it has no score.
        """
        if isinstance(why, OutOfTimeError):
            self._stopped = why
        await self._alone(lambda: self._end(why))

    async def abort(self, why: Exception) -> None:
        """End it as `leave` does, but cut the running operation short. Never raises.

        If the caller left, a judgement that runs goes on: without it, leaving twice would escape
        the verdict.
        """
        self._stopped = why
        kept = isinstance(why, PolicyError) and self._is_being_judged
        if self._work is not None and not kept:
            self._work.cancel()
        ending = asyncio.create_task(self.leave(why))
        await asyncio.wait({ending}, timeout=ABORT_S)
        ending.cancel()

    # --- one at a time ---------------------------------------------------------------------

    async def _alone(self, operation: Callable[[], Awaitable[T]]) -> T | Failure:
        """Do an operation after the ones before it.

        Until its turn comes it can be cancelled. Once begun it goes on without its caller, who
        must not escape a bad episode by leaving in the middle of a long call.
        """
        await self._turn.acquire()
        if (task := detached_task()) is not None:
            self._work = task
            try:
                return await self._begun(operation)
            finally:
                self._work = None
        self._work = asyncio.create_task(self._begun(operation))
        return await asyncio.shield(self._work)

    async def _begun(self, operation: Callable[[], Awaitable[T]]) -> T | Failure:
        try:
            if self._stopped is not None and not self.over:
                await self._end(self._stopped)
            return self._refusal() if self.over else await operation()
        except Exception as error:  # noqa: BLE001 - it could not be recorded, and has to end
            self.over, self._ending = True, unrecorded(error)
            await self._release()
            return self._refusal()
        finally:
            # The end of an idle episode must not keep its session from being idle.
            if not self.over:
                self.quiet_since_s = time.monotonic()
            self._turn.release()

    async def _start(self, plan: Callable[[], int]) -> Answer:
        def add() -> None:
            self._recorded_as = plan()

        await self._config.store.threads.finish(add)
        try:
            episode = await self._environment.start(self._seed)
        except Exception as error:  # noqa: BLE001 - the boundary that classifies it
            await self._conclude(failed(error))
            return self._refusal()
        # The caller's time begins when it can act.
        self._episode = episode
        recording = await EpisodeRecording.begin(self._config.store, self._recorded_as, episode)
        self._adopt(episode, recording, time.monotonic())
        return Reply(self.id, episode.first, facts=self._facts(episode))

    async def _start_as_fork(self, parent: SessionEpisode) -> Answer:
        made = await parent._alone(parent._fork)
        if isinstance(made, Failure):
            self.over = True
            return made
        recording = made.recording
        assert recording is not None, "the fork of a recorded episode is recorded"
        recording.has_player = True
        self._seed, self._recorded_as = parent._seed, recording.episode_id
        # Time that was used before the fork is used in both.
        self._adopt(made, recording, parent._acting_since_s)
        return Reply(self.id, self._last, facts=self._facts(made))

    async def _fork(self) -> Episode | Failure:
        if await self._is_out_of_time():
            return self._refusal()
        try:
            return await self._live[0].fork()
        except UnsupportedError as error:
            return Failure(FailureCode.UNSUPPORTED, str(error), self.id)
        except Exception as error:  # noqa: BLE001 - the boundary that classifies it
            return Failure(FailureCode.BROKEN, f"no fork was made: {failed(error).error}", self.id)

    def _facts(self, episode: Episode) -> dict[str, Json]:
        """Return what its caller may know of it at the start."""
        facts: dict[str, Json] = {"task": episode.environment.task.id, "seed": self._seed}
        if self._config.tell_verdicts:
            facts["params"] = episode.instance.params
        return facts

    def _adopt(self, episode: Episode, recording: EpisodeRecording, acting_since_s: float) -> None:
        """Make a live episode its own; its time begins."""
        self._episode, self._recording = episode, recording
        self._acting_since_s = acting_since_s
        self._last = episode.steps[-1].observation if episode.steps else episode.first
        self._timer = asyncio.create_task(self._watch_time())

    async def _step(self, decision: Decision) -> Answer:
        if await self._is_out_of_time():
            return self._refusal()
        episode, recording = self._live
        number = len(episode.steps)
        try:
            if self._write_error is not None:
                raise self._write_error
            done = await episode.step(decision)
            self._last = done.observation
            if self._config.record_after_s <= 0:
                await recording.take_steps()
            elif done.verdict is None:
                # The end of the episode records what is left.
                self._writer.soon(recording, self._cannot_write)
        except Exception as error:  # noqa: BLE001 - the boundary that classifies it
            await self._conclude(await self._by_actions(failed(error), (number, decision)))
            return self._refusal()
        if done.verdict is None:
            return Reply(self.id, done.observation)
        await self._conclude(Ending(done.verdict, truncated=done.truncated))
        return self._ended(Reply(self.id, done.observation, done.terminated, done.truncated))

    def _cannot_write(self, error: Exception) -> None:
        """Let the next operation end the episode, because its steps cannot be recorded."""
        self._write_error = error

    @property
    def _live(self) -> tuple[Episode, EpisodeRecording]:
        assert self._episode is not None and self._recording is not None, "it is live"
        return self._episode, self._recording

    # --- time ------------------------------------------------------------------------------

    @property
    def _left_s(self) -> float:
        """Seconds that the caller has left; time spent waiting for the user does not count."""
        deadline = self._acting_since_s + self._wall_s + self._live[0].waited_s
        return deadline - time.monotonic()

    async def _is_out_of_time(self) -> bool:
        """End it if its time is over; return whether it is."""
        if self._left_s > 0:
            return False
        await self._end(OutOfTimeError(f"the agent had {self._wall_s:g} s"))
        return True

    async def _watch_time(self) -> None:
        """End it when its time is over, or when its caller has left it alone for too long."""
        idle_s = self._config.idle_s
        while not self.over:
            left_s = min(self._left_s, idle_s if self.busy else self._idle_left_s)
            if left_s > 0:
                await asyncio.sleep(left_s)
            else:
                await self._alone(self._end_if_due)

    @property
    def _idle_left_s(self) -> float:
        return self.quiet_since_s + self._config.idle_s - time.monotonic()

    async def _end_if_due(self) -> None:
        if not await self._is_out_of_time() and self._idle_left_s <= 0:
            await self._end(OutOfTimeError(f"nothing was called for {self._config.idle_s:g} s"))

    # --- the end ---------------------------------------------------------------------------

    async def _end(self, why: Exception) -> None:
        """End it for a reason; see `leave`."""
        if self._recording is None:
            await self._conclude(failed(AgentError(str(why))))
            return
        after = f"after {len(self._live[0].steps)} steps: {why}"
        if isinstance(why, OutOfTimeError):
            await self._recording.note(f"truncated {after}")
            await self._judge(lambda verdict: Ending(verdict, truncated=True))
        elif isinstance(why, PolicyError):
            await self._recording.note(f"the policy failed {after}")
            await self._judge(lambda verdict: Ending(verdict, str(why) if verdict.scored else ""))
        else:
            await self._conclude(failed(why))

    async def _judge(self, ending: Callable[[Verdict], Ending]) -> None:
        """Judge the present state and conclude."""
        try:
            found = ending(await self._live[0].finish())
        except Exception as error:  # noqa: BLE001 - the boundary that classifies it
            found = await self._by_actions(failed(error))
        await self._conclude(found)

    async def _by_actions(self, ended: Ending, last: tuple[int, Decision] | None = None) -> Ending:
        """Return how it ended if it broke: by the same actions in another one, if they tell."""
        episode, recording = self._live
        within_s = max(self._wall_s, REPETITION_S)
        ending = await ending_by_its_actions(ended, episode, last, within_s)
        if ending is not ended:
            await recording.note(told_of(ended, last))
        return ending

    async def _conclude(self, ending: Ending) -> None:
        """Record the end and release everything.

        Raises:
            RecordError: It cannot be recorded.
        """
        self.over, self._ending = True, ending
        spent_s = time.monotonic() - self._began_s
        try:
            if self._recording is not None:
                await self._recording.finish(ending, duration_s=spent_s)
            elif self._recorded_as:
                await self._config.store.threads.finish(self._not_started, ending, spent_s)
        finally:
            await self._release()

    def _not_started(self, ending: Ending, spent_s: float) -> None:
        store = self._config.store
        row = store.episode(self._recorded_as)
        record_end(store, row, self._environment.provider.name, ending, spent_s)

    async def _release(self) -> None:
        """End the sandbox and drop the steps; what a late call is told stays."""
        episode, self._episode = self._episode, None
        recording, self._recording = self._recording, None
        self._last = Observation("")
        if self._timer is not None:
            self._timer.cancel()
        if recording is not None:
            await self._writer.forget(recording)
        if episode is not None:
            self._steps = len(episode.steps)
            await episode.close()
            # Each refers to the other, and its steps would stay until the next garbage collection.
            episode.recording = None

    def _ended(self, reply: Reply) -> Answer:
        """Return the answer to the operation that ended it."""
        if not self._ending.verdict.scored:
            return self._refusal()
        return tell_end(reply, self._ending, self._config)

    def _refusal(self) -> Failure:
        """Return the answer to an operation on an episode that is over."""
        return refusal(self.id, self._ending, self._config)
