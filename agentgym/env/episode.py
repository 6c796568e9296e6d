"""One episode, from its start to its verdict, step by step.

An illegal action and a failing command are observations. An exception means that a boundary
broke (task, sandbox, verifier); the caller classifies it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from agentgym.env import sealing, suspension
from agentgym.env.dynamics import Dynamics
from agentgym.env.ending import OnEnd
from agentgym.env.execution import Execution
from agentgym.env.first_observation import first_observation, with_lines
from agentgym.env.judging import judge
from agentgym.env.kept_calls import KeptCalls
from agentgym.env.parts import EpisodeParts, fork_parts, make_parts
from agentgym.env.prefix_replay import repeat
from agentgym.env.recording import EpisodeRecording
from agentgym.env.resources import SharedResources
from agentgym.env.transition import Transition
from agentgym.errors import (
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    SandboxTimeoutError,
    SurfaceEndedError,
    SurfaceError,
    UnsupportedError,
)
from agentgym.protocols import Sandbox, Surface
from agentgym.records import (
    Audit,
    Effect,
    Observation,
    Snapshot,
    Step,
    StepEvent,
    Verdict,
)
from agentgym.records.bounds import read_decision
from agentgym.services.backend import Backend
from agentgym.task.model import Instance
from agentgym.threads import to_thread
from agentgym.verify.grading_start import GradingStart
from agentgym.verify.version import versioned


class Episode:
    """One episode of an environment, from its start to its verdict.

    `Environment.start` or `fork` creates it. It executes one operation at a time: a step, a fork
    or a judgement waits for the previous one. `close` does not wait.

    Args:
        parts: The parts that belong to this episode alone.
        started_s: Time at which its start began, by `time.perf_counter`.

    Attributes:
        environment: The environment, shared with other episodes.
        instance: The task with its parameters and the instruction.
        first: The first observation.
        assignment: The text of the first observation without the views of the surfaces.
        steps: Steps of the agent.
        audit: Audit of the sandbox, set when the episode is over.
        reset_s: Seconds from the start until the agent could act.
        began_s: Time at which its sandbox was started, in seconds since 1970; of a fork, the
            sandbox of the first episode.
        over: Whether it was judged or closed; then it accepts no operation.
        on_end: Called after the verdict, with the ended episode and the verdict, while the files
            still exist. Not called for tasks of another format, which are judged in the live
            sandbox.
        recording: The record of the episode; its forks are recorded beside it. None if nothing
            records it.
        parent: The episode from which it was forked, None if it was started.
        forked_at: Number of steps that its parent had taken then; 0 if it was started.
    """

    def __init__(self, parts: EpisodeParts, started_s: float) -> None:
        self.environment, self.instance = parts.environment, parts.instance
        self.assignment, self.first = "", Observation("")
        self.steps: list[Step] = []
        self.audit = Audit()
        self.reset_s = 0.0
        # A pooled sandbox was started earlier, and the times of its folders show when.
        self.began_s = min(time.time(), getattr(parts.sandbox, "began_s", time.time()))
        self.over = False
        self.on_end: OnEnd | None = None
        self.recording: EpisodeRecording | None = None
        self.parent: Episode | None = None
        self.forked_at = 0
        self._parts, self._started_s = parts, started_s
        self._turn = asyncio.Lock()
        self._execution = Execution(parts)
        self._kept = KeptCalls()
        self.environment.live.add(self)

    @classmethod
    async def start(
        cls, environment: SharedResources, instance: Instance, *, alone: bool = False
    ) -> Episode:
        """Begin an episode of an instance; see `Environment.start`."""
        started_s = time.perf_counter()
        parts = await make_parts(environment, instance)
        parts.alone = alone
        episode = cls(parts, started_s)
        try:
            await episode._begin()
        except BaseException:
            await episode.close()
            raise
        return episode

    async def anew(self, *, alone: bool) -> Episode:
        """Begin another episode of the same task and seed; see `Environment.start`."""
        instance = self.environment.task.instance(self.instance.seed)
        return await Episode.start(self.environment, instance, alone=alone)

    @property
    def sandbox(self) -> Sandbox:
        """Sandbox of the episode."""
        return self._parts.sandbox

    @property
    def backend(self) -> Backend | None:
        """Services of the episode, None if the environment has no services."""
        return self._parts.backend

    @property
    def dynamics(self) -> Dynamics:
        """Faults and events around the agent."""
        return self._parts.dynamics

    @property
    def surfaces(self) -> Sequence[Surface]:
        """Surfaces, in the order of the environment's surface kinds."""
        return tuple(self._parts.surfaces)

    @property
    def prepared(self) -> str:
        """Digest of the state that the setup left, 64 hex digits; empty without a setup."""
        return self._parts.prepared.digest

    @property
    def waited_s(self) -> float:
        """Time that the agent has waited for its user, in seconds."""
        talk = self._parts.conversation
        return 0.0 if talk is None else talk.waited_s

    @property
    def asks_user(self) -> bool:
        """Whether the agent waits for its user now."""
        talk = self._parts.conversation
        return talk is not None and talk.is_asked

    async def _begin(self) -> None:
        """Begin all parts and set `first` to the first observation."""
        parts, rules = self._parts, self._parts.rules
        own_words = "" if rules is None else await rules.begin(parts.sandbox)
        await parts.attach()
        self.reset_s = time.perf_counter() - self._started_s
        self.assignment, self.first = await first_observation(parts, own_words)
        # A policy may use the instruction alone and never read the first observation.
        self.instance = replace(self.instance, instruction=self.first.text)

    async def step(self, decision: object, *, recorded: Sequence[StepEvent] = ()) -> Transition:
        """Execute one action.

        Args:
            decision: A `Decision`, an `Action` or an action as JSON. Anything else counts as an
                illegal action: it costs a step and the observation gives the reason.
            recorded: Recorded events of this step, if it is executed again. A user whose
                answers may vary repeats the recorded answer.

        Raises:
            SurfaceError: The episode is over.
            SandboxError: The sandbox died.
            TaskError: The script of an event fails, independent of the agent's actions.
            UserError: The user failed.
            RecordError: The step cannot be recorded.
        """
        async with self._turn:
            self._must_be_live()
            stepping = self._step(decision, recorded)
            return await (stepping if self.recording is None else self.recording.play(stepping))

    async def _step(self, decision: object, recorded: Sequence[StepEvent]) -> Transition:
        parts = self._parts
        taken = self._kept.keep(read_decision(decision))
        if parts.conversation is not None:
            parts.conversation.expect(recorded)
        started, alive, told = time.perf_counter(), True, ""
        try:
            seen, ended = await self._execution.act(taken.action)
        except SandboxEndedError as error:
            seen, ended = Observation(text=str(error), effect=Effect.ERROR), True
            alive = False
        except SurfaceEndedError as error:
            seen, ended = Observation(text=str(error), effect=Effect.ERROR), True
        step = Step(len(self.steps), taken, seen, time.perf_counter() - started)
        over = ended or step.index + 1 >= self.environment.max_steps
        if alive:
            try:
                told = await self._pass_time(step, over)
            except SandboxDiedError as error:
                if not isinstance(error, SandboxEndedError):
                    raise
                told, ended = str(error), True
            except SandboxError as error:
                # Only the agent has acted in the sandbox. If the sandbox does not stop, fit or
                # answer now, the agent left it so, and the episode is judged.
                told, ended = f"the episode ends here: {error}", True
        observation = with_lines(seen, told)
        happened = parts.dynamics.take_events()
        self.steps.append(replace(step, observation=observation, events=happened))
        if parts.rules is not None:
            parts.rules.note(self.steps[-1])
        if not ended and not over:
            return Transition(observation)
        verdict = await self._finish()
        return Transition(observation, verdict.score, ended, not ended, verdict)

    async def _pass_time(self, step: Step, over: bool) -> str:
        answer, gave_up = self._execution.answer, self._execution.gave_up
        return await self.dynamics.advance(
            self.sandbox, self.steps, step, answer=answer, gave_up=gave_up, over=over
        )

    async def fork(self) -> Episode:
        """Return another episode in the same state; both continue.

        Files, rows, clock, pending events, fault counters, milestones and the user's memory are
        copied. Equal actions therefore lead to equal observations and verdicts in both, and
        neither sees the actions of the other. Processes are not copied: background processes of
        the agent are absent in the fork, and a shell keeps only its working directory and
        exported variables. A fork waits for a step that is running. The fork of a recorded episode
        is recorded in the same run, as an episode of its own. In an environment without a computer,
        actions are repeated where a state cannot be copied; see `agentgym.env.prefix_replay`.

        Raises:
            UnsupportedError: A part of the episode cannot be forked; the message names it.
            SurfaceError: The episode is over.
            SandboxError: The sandbox died, or a second one cannot be started.
            RecordError: The fork cannot be recorded.
        """
        async with self._turn:
            self._must_be_live()
            started_s = time.perf_counter()
            try:
                child = Episode(await fork_parts(self._parts), started_s)
            except UnsupportedError as why:
                begin = functools.partial(self.anew, alone=self._parts.alone)
                child = await repeat(self, self._parts, begin, why)
            child.parent, child.forked_at = self, len(self.steps)
            child.instance, child.first = self.instance, self.first
            child.assignment = self.assignment
            child.steps, child.began_s = list(self.steps), self.began_s
            child._execution = replace(self._execution, parts=child._parts)
            child._kept = replace(self._kept)
            child.reset_s = time.perf_counter() - started_s
            try:
                if self.over:
                    raise SurfaceError("the episode was closed while it was forked")
                if self.recording is not None:
                    await self.recording.fork(child)
            except BaseException:
                await child.close()
                raise
            return child

    @contextlib.asynccontextmanager
    async def suspended(self) -> AsyncIterator[None]:
        """Keep the files of the computer meanwhile, and run nothing of it; see `suspension`.

        What cannot be suspended runs on. The first step afterwards has an event that tells, and a
        re-execution suspends its computer there, too.

        Raises:
            SurfaceError: The episode is over.
            SandboxError: No sandbox could be started at the exit, or it died without a cause in
                the guest.
            SurfaceLostError: A process that episodes share ended.
            SurfaceEndedError: The episode has to end, and can be judged: a sandbox or a surface
                does not come back in what the agent has left.
        """
        async with self._turn:
            self._must_be_live()
            saved = await suspension.suspend(self._parts)
            yield
            if saved is None:
                return
            self._must_be_live()
            try:
                await suspension.resume(self._parts, saved)
            finally:
                if self.over:
                    await self._parts.detach()
            if self.over:
                raise SurfaceError("the episode was closed while its computer started again")

    async def finish(self) -> Verdict:
        """End the episode and judge its present state.

        Raises:
            SurfaceError: The episode is over.
            RecordError: The verdict cannot be recorded.
        """
        async with self._turn:
            self._must_be_live()
            judging = self._finish()
            return await (judging if self.recording is None else self.recording.judge(judging))

    async def _finish(self) -> Verdict:
        parts = self._parts
        self.over = True
        grading = None if parts.rules is not None else GradingStart(self.instance)
        try:
            await parts.finish()
            with contextlib.suppress(SandboxEndedError, SandboxTimeoutError):
                self.audit = await parts.audit()
            if parts.rules is not None:
                # Such tests see the agent's processes, so nothing is ended before them.
                gave_up = self._execution.gave_up is not None
                verdict = await parts.rules.finish(parts.sandbox, gave_up=gave_up)
                return await to_thread(versioned, verdict, self.instance.task)
            sealed = functools.partial(sealing.seal, parts)
            return await self._judge(sealed, self.on_end, grading)
        finally:
            if grading is not None:
                grading.close()
            await self._release()

    async def judge_now(self) -> Verdict:
        """Judge the present state as if the episode ended here; the episode continues.

        A snapshot is judged, so every check of the rubric can run.

        Raises:
            SurfaceError: The episode is over, or its task has tests of another format.
            SandboxError: The sandbox died.
        """
        async with self._turn:
            self._must_be_live()
            if self._parts.rules is not None:
                task = self.environment.task.id
                raise SurfaceError(f"{task}: its own tests judge it, and only at the end")
            self.audit = await self._parts.audit()
            return await self._judge(self.sandbox.snapshot)

    async def _judge(
        self,
        keep: Callable[[], Awaitable[Snapshot]],
        on_end: OnEnd | None = None,
        grading: GradingStart | None = None,
    ) -> Verdict:
        found = (self._execution, self.instance, self.steps, self.audit, keep)
        return await judge(*found, on_end=on_end, grading=grading)

    async def close(self) -> None:
        """End the episode without a verdict if it is not over. Never raises."""
        if not self.over:
            self.over = True
            await self._release()
            if self.recording is not None:
                await self.recording.leave()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _release(self) -> None:
        await self._parts.close()
        self.environment.live.discard(self)

    def _must_be_live(self) -> None:
        if self.over:
            raise SurfaceError("the episode is over; start another one")
