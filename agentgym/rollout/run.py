"""One episode with one agent, recorded as it goes, to its recorded end.

A policy that fails ends its episode, which is judged as it stands. Every other failure belongs to
one boundary and ends in a verdict that names it: a broken sandbox or endpoint is data, never a
reward of zero, unless the same actions break another episode, too (see `repetition`). An episode
that was interrupted is resumed: its recorded actions are executed again, then the agent goes on
with the whole history.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.env.outcome import Ending, failed
from agentgym.env.recording import EpisodeRecording, record_end
from agentgym.errors import AgentError, PolicyError
from agentgym.protocols import Agent
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Decision, Generation, Grading, Step, TokenUsage, Verdict
from agentgym.rollout.policy import OutOfTimeError, Policy, releasing
from agentgym.rollout.reexecution import Reexecution, recorded_periods, reexecute
from agentgym.rollout.repetition import REPETITION_S, ending_by_its_actions, told_of
from agentgym.rollout.step_tests import StepTests

LONGEST_S = 3600.0
"""Wall time of an agent that neither the caller nor the task bounds: nothing hangs for ever."""


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """The result of an episode.

    Attributes:
        verdict: How it was judged.
        steps: Steps taken, those of before a resume included.
        usage: Tokens of all steps, and of replies that ended the episode without one.
        reset_s: Wall time of the start.
        duration_s: Wall time of the whole.
        error: Why it has no score, or how its policy failed; else empty.
        truncated: A bound on its steps or its wall time ended it.
        refused: Completions that led to no step; None if they are not known.
        step_tests: Scores of the steps by hidden tests; None if they were not asked for.
        lost: Nothing that it did ended it; it can be played once more.
    """

    verdict: Verdict
    steps: int
    usage: TokenUsage
    reset_s: float
    duration_s: float
    error: str
    truncated: bool = False
    refused: tuple[Generation, ...] | None = ()
    step_tests: Grading | None = None
    lost: bool = False


async def run_episode(
    environment: Environment,
    agent: Agent,
    *,
    seed: int,
    store: RunStore | None,
    episode_id: int | None,
    timeout_s: float | None = None,
    on_step: Callable[[Step], None] | None = None,
    step_tests: bool = False,
    alone: bool = False,
    note: str = "",
) -> EpisodeResult:
    """Run one episode, or the rest of one whose steps are recorded already.

    Args:
        environment: Where it happens; it stays open, and other episodes may be live in it.
        agent: Made for this episode; it is closed.
        seed: Seed of the episode.
        store: Where it is recorded, or None.
        episode_id: Which episode of the store it is.
        timeout_s: Wall time the agent has, counted from when it starts. An episode that is not
            over by then is graded as it stands. None: the task's own ``limits.wall_s``.
        on_step: Called with every new step once it is recorded.
        step_tests: Score each step that changes a repository by the task's hidden tests.
        alone: Whether it shares no process with other episodes; see `Environment.start`.
        note: First line of the log in the record; empty for none.

    Raises:
        RecordError: It cannot be recorded. Every other failure is a verdict.
    """
    began_s = time.monotonic()
    async with releasing(agent):
        try:
            episode = await environment.start(seed, alone=alone)
        except Exception as error:  # noqa: BLE001 - the boundary that classifies it
            return await _not_started(environment, error, began_s, store, episode_id)
        async with episode:
            rollout = Rollout(episode, agent, timeout_s=timeout_s, on_step=on_step, began_s=began_s)
            rollout.step_tests = StepTests.of(episode) if step_tests else None
            executed = Reexecution(episode, episode.first)
            try:
                if store is not None and episode_id is not None:
                    recording = await rollout.record(store, episode_id)
                    rollout.can_go_on = True
                    if note:
                        await recording.note(note)
                    if recording.earlier is not None and recording.earlier.steps:
                        executed = await _repeated(store, episode, recording.earlier)
                    if executed.first:
                        await recording.note(f"resume diverged at {executed.first}")
            except Exception as error:  # noqa: BLE001 - the boundary that classifies it
                return await rollout.conclude(failed(error))
            result = await rollout.complete(executed)
            if store is not None and episode_id is not None and result.step_tests is not None:
                await store.threads.finish(_keep, store, episode_id, result.step_tests)
            return result


async def _not_started(
    environment: Environment,
    error: Exception,
    began_s: float,
    store: RunStore | None,
    episode_id: int | None,
) -> EpisodeResult:
    """Return the result of an episode that could not be started, and record it."""
    ending, spent_s = failed(error), time.monotonic() - began_s
    if store is not None and episode_id is not None:
        name = environment.provider.name
        planned = await store.threads.finish(store.episode, episode_id)
        await store.threads.finish(record_end, store, planned, name, ending, spent_s)
    return EpisodeResult(
        *(ending.verdict, 0, TokenUsage(), 0.0, spent_s, ending.reason), lost=ending.lost
    )


async def _repeated(store: RunStore, episode: Episode, row: EpisodeRow) -> Reexecution:
    """Execute the recorded steps of an episode that is resumed."""
    read = store.threads.finish
    return await reexecute(
        *(episode, row, await read(store.steps, row.id)),
        recorded_in=await read(recorded_periods, store, row),
        strict=False,
    )


def _keep(store: RunStore, episode_id: int, grading: Grading) -> None:
    """Add a grading of the recorded steps to the record."""
    digest = store.history.trajectory(episode_id)
    store.history.add_gradings(episode_id, [replace(grading, trajectory=digest)])


class Rollout:
    """One agent in one episode, with the record of it if there is one.

    Args:
        episode: Where it acts.
        agent: Who acts.
        timeout_s: Wall time of the agent, None for the task's own.
        on_step: Called with every new step.
        began_s: When it all began, as `time.monotonic` tells; None: now.

    Attributes:
        recording: The record of the episode, if there is one.
        step_tests: Scores its steps, None if nothing does.
        can_go_on: Whether the caller can play the rest of it from its record.
    """

    def __init__(
        self,
        episode: Episode,
        agent: Agent,
        *,
        timeout_s: float | None,
        on_step: Callable[[Step], None] | None,
        began_s: float | None = None,
    ) -> None:
        self.recording = episode.recording
        if self.recording is not None:
            self.recording.has_player = True
        self._episode = episode
        self._agent = agent
        wall_s = episode.environment.task.manifest.limits.wall_s or LONGEST_S
        self._timeout_s = wall_s if timeout_s is None else timeout_s
        self._on_step = on_step
        self._began = time.monotonic() if began_s is None else began_s
        self.step_tests: StepTests | None = None
        self.can_go_on = False
        self._last: Step | None = None
        self._newest: tuple[int, Decision] | None = None
        self._refused = TokenUsage()
        self._refused_generations: tuple[Generation, ...] | None = ()

    async def record(self, store: RunStore, episode_id: int) -> EpisodeRecording:
        """Mark an episode of the store as running in this one."""
        self.recording = await EpisodeRecording.begin(store, episode_id, self._episode)
        return self.recording

    async def complete(self, executed: Reexecution) -> EpisodeResult:
        """Let the agent act from where the episode is until it is over."""
        try:
            ending = await self._play(executed)
        except Exception as error:  # noqa: BLE001 - the boundary that classifies it
            ending = await self._broken(failed(error))
        finally:
            if self.step_tests is not None:
                await self.step_tests.close()
        return await self.conclude(ending)

    async def _broken(self, ended: Ending) -> Ending:
        """Return how an episode ended that broke, by its actions if they tell; see `repetition`."""
        within_s = max(self._timeout_s, REPETITION_S)
        ending = await ending_by_its_actions(ended, self._episode, self._newest, within_s)
        if ending is not ended:
            await self._note(told_of(ended, self._newest))
        if self._newest is not None:
            index, decision = self._newest
            if index < len(self._episode.steps):
                # It is recorded together with the ending.
                self._last = self._episode.steps[index]
            else:
                self._refused, self._refused_generations = decision.usage, decision.generations
        # Otherwise it would begin anew, and its policy would have a second attempt.
        return replace(ending, lost=ended.lost or (ending.lost and self.can_go_on))

    async def conclude(self, ending: Ending) -> EpisodeResult:
        """Record how the episode ended and sum it up."""
        steps = self._episode.steps
        scores = None if self.step_tests is None else self.step_tests.grading(ending.verdict)
        result = EpisodeResult(
            verdict=ending.verdict,
            steps=len(steps),
            usage=sum((step.decision.usage for step in steps), self._refused),
            reset_s=self._episode.reset_s,
            duration_s=time.monotonic() - self._began,
            error=ending.reason,
            truncated=ending.truncated,
            refused=self._refused_generations,
            step_tests=scores,
            lost=ending.lost,
        )
        if self.recording is not None:
            await self.recording.finish(
                ending,
                duration_s=result.duration_s,
                refused=self._refused,
                generations=self._refused_generations,
            )
        if self._last is not None:
            self._tell(self._last)
        return result

    async def _play(self, executed: Reexecution) -> Ending:
        try:
            return await self._act(executed)
        except OutOfTimeError as end:
            await self._note(f"truncated after {len(self._episode.steps)} steps: {end}")
            return Ending(await self._episode.finish(), truncated=True)
        except PolicyError as end:
            self._refuse(end)
            await self._note(
                f"the policy failed after {len(self._episode.steps)} steps: {end}", end.detail
            )
            verdict = await self._episode.finish()
            return Ending(verdict, str(end) if verdict.scored else "")
        except AgentError as end:
            self._refuse(end)
            if end.detail:
                told = f"the agent failed after {len(self._episode.steps)} steps"
                await self._note(told, end.detail)
            raise

    def _refuse(self, end: AgentError) -> None:
        """Take down the replies that led to no step."""
        self._refused = end.usage if isinstance(end.usage, TokenUsage) else TokenUsage()
        known = end.generations
        self._refused_generations = known if isinstance(known, tuple) else None

    def _tell(self, step: Step) -> None:
        if self._on_step is not None:
            self._on_step(step)

    async def _note(self, *parts: str) -> None:
        if self.recording is not None:
            await self.recording.note(*parts)

    async def _act(self, executed: Reexecution) -> Ending:
        episode, observation, last = self._episode, executed.observation, executed.transition
        policy = Policy(self._agent, episode, self._timeout_s)
        if last is None or last.verdict is None:
            await policy.start()
            if self.step_tests is not None:
                await self.step_tests.begin()
        while last is None or last.verdict is None:
            decision = await policy.decide(observation)
            self._newest = len(episode.steps), decision
            last = await episode.step(decision)
            observation = last.observation
            if last.verdict is None:
                if self.recording is not None:
                    await self.recording.take_steps()
                self._tell(episode.steps[-1])
                self._newest = None
                if self.step_tests is not None:
                    await self.step_tests.after_step()
                    policy.paused_s = self.step_tests.spent_s
            else:
                # It is recorded together with the verdict.
                self._last = episode.steps[-1]
        return Ending(last.verdict, truncated=last.truncated)
