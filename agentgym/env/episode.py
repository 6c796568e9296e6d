"""One episode: what lives from a reset to the verdict, and what happens to it step by step.

An illegal action and a failing command are observations. An exception means that a boundary
broke (task, sandbox, verifier); whoever runs the episode classifies it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from agentgym.env.control import GIVE_UP, MESSAGE_USER, SUBMIT
from agentgym.env.conversation import Conversation
from agentgym.env.definition import Definition
from agentgym.env.dynamics import Dynamics
from agentgym.env.ending import EndedEpisode, with_services
from agentgym.env.foreign import ForeignEpisode, foreign_episode
from agentgym.env.hosting import prepare_services
from agentgym.env.survival import survived
from agentgym.errors import (
    ActionError,
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    SandboxLimitError,
    SandboxTimeoutError,
    SurfaceEndedError,
    SurfaceError,
)
from agentgym.protocols import Sandbox, Services, Site, Surface, UserWorld
from agentgym.records import (
    Action,
    Audit,
    Decision,
    Effect,
    Observation,
    Snapshot,
    Step,
    StepEvent,
    Verdict,
)
from agentgym.records.bounds import bounded_decision, malformed
from agentgym.services.backend import Backend
from agentgym.surfaces.calls import check_call
from agentgym.task.model import Instance
from agentgym.task.setup import Prepared
from agentgym.task.template import fill
from agentgym.user.service_access import UserServiceAccess
from agentgym.verify.grade import EpisodeEnd, failed
from agentgym.verify.milestones import Milestones, open_milestones
from agentgym.verify.worker.pool import WORKERS

OnEnd = Callable[[EndedEpisode, Verdict], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Transition:
    """What a step leads to.

    Attributes:
        observation: What the agent sees.
        reward: The verdict's score on the last step, else 0.
        terminated: The agent ended the episode, or its sandbox ended under it.
        truncated: The step limit ended it.
        verdict: Set when the episode is over.
    """

    observation: Observation
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    verdict: Verdict | None = None


async def start_episode(definition: Definition, instance: Instance) -> Episode:
    """Prepare what an instance needs, start its sandbox and fork its services.

    Raises:
        TaskError: The setup is broken.
        SandboxError: No sandbox could be started.
    """
    WORKERS.warm()  # what judges loads while the world is made
    prepared = await definition.prepare(instance)
    begun = None
    if definition.services is not None:
        begun = prepare_services(definition.services, instance)
        prepared = with_services(prepared, begun)
    milestones = await open_milestones(instance, prepared, definition.provider)
    started_s = time.perf_counter()
    try:
        sandbox = await definition.provider.start(definition.recipe, prepared.snapshot)
    except BaseException:
        if milestones is not None:
            milestones.close()
        raise
    backend = None if begun is None else begun.fork()
    return Episode(definition, instance, prepared, milestones, sandbox, backend, started_s)


class Episode:
    """One episode of an environment; made by `start_episode`, then begun.

    Args:
        definition: What it has in common with the others.
        instance: The task with its parameters.
        prepared: What it starts from, and the gold for its checks.
        milestones: What is looked at after every step, None where the rubric has none.
        sandbox: Its own.
        backend: Its own services, None where there are none.
        started_s: When its start began, as `time.perf_counter` tells.

    Attributes:
        instance: The task with its parameters; once it has begun, with all that the agent is told.
        sandbox: Where it happens.
        backend: Its services, None where there are none.
        world: What happens around the agent.
        steps: What the agent has done.
        audit: What the sandbox's audit holds, once it is over.
        reset_s: Seconds from the start until the agent could act.
        began_s: When its sandbox was started, in seconds since 1970.
        over: It is judged or closed; nothing can be done in it.
        on_end: Called with what there was to judge and the verdict, while the files are there.
    """

    def __init__(
        self,
        definition: Definition,
        instance: Instance,
        prepared: Prepared,
        milestones: Milestones | None,
        sandbox: Sandbox,
        backend: Backend | None,
        started_s: float,
    ) -> None:
        self.instance, self.sandbox, self.backend = instance, sandbox, backend
        self.steps: list[Step] = []
        self.audit = Audit()
        self.reset_s = 0.0
        # A sandbox may have been started ahead, and its folders show when.
        self.began_s = min(time.time(), getattr(sandbox, "began_s", time.time()))
        self.over = False
        self.on_end: OnEnd | None = None
        self._definition, self._prepared, self._started_s = definition, prepared, started_s
        provider, recipe = definition.provider, definition.recipe
        self.dynamics = Dynamics(
            instance, milestones, lambda: provider.start(recipe, prepared.snapshot), backend
        )
        self._answer: str | None = None
        self._gave_up: str | None = None
        self._owners: dict[str, Surface | Conversation] = {
            tool.name: surface for surface in definition.surfaces for tool in surface.tools()
        }
        self._conversation: Conversation | None = None
        if instance.task.user is not None:
            self._conversation = Conversation(instance.task.user, definition.user)
            self._owners[MESSAGE_USER.name] = self._conversation
        self._foreign: ForeignEpisode | None = None
        if instance.task.foreign is not None:
            offline, judge = definition.offline, definition.judge
            self._foreign = foreign_episode(
                instance.task.foreign,
                provider,
                recipe,
                lambda: provider.start(recipe, prepared.snapshot),
                offline=offline,
                judge=judge,
            )

    @property
    def prepared(self) -> str:
        """Digest of what the setup left, 64 hex digits; empty if nothing is set up."""
        return self._prepared.digest

    @property
    def waited_s(self) -> float:
        """Seconds that the agent has waited for its user."""
        return 0.0 if self._conversation is None else self._conversation.waited_s

    async def begin(self) -> Observation:
        """Let everything begin and return all that the agent is told.

        Raises:
            TaskError: What comes before the first step is broken.
            SandboxError: The sandbox died.
            UserError: The user failed.
        """
        own_words = "" if self._foreign is None else await self._foreign.begin(self.sandbox)
        site = Site(self.sandbox, self._services_of_surfaces())
        for surface in self._definition.surfaces:
            await surface.open(site)
        self.reset_s = time.perf_counter() - self._started_s
        told = await self.dynamics.begin(self.sandbox)
        opening = await self._open_conversation()
        first = Observation(text=self.instance.instruction)
        for lines in (self._about(), own_words, told, opening):
            first = _with_lines(first, lines)
        # A policy may build on the instruction alone and never read the first observation.
        self.instance = replace(self.instance, instruction=first.text)
        return first

    def _about(self) -> str:
        """Return where and when the agent is, as its environment tells it."""
        about = self._definition.about
        if not about:
            return ""
        filled = fill(about, {"now": self.dynamics.clock.spoken}, "about in env.toml")
        return f"\n{filled}"

    def _services_of_surfaces(self) -> Services | None:
        return self.dynamics.services if self._foreign is None else self._foreign.services

    async def _open_conversation(self) -> str:
        reach: UserWorld | None = UserServiceAccess(self.backend)
        if self._foreign is not None:
            reach = self._foreign.customer
        if self._conversation is None or reach is None:
            return ""
        return await self._conversation.begin(self.instance, reach, self.dynamics.note)

    async def step(self, decision: object, recorded: Sequence[StepEvent]) -> Transition:
        """Execute one action; see `Environment.step`."""
        taken = bounded_decision(
            decision if isinstance(decision, Decision) else Decision(_read_action(decision))
        )
        if self._conversation is not None:
            self._conversation.expect(recorded)
        started, alive, told = time.perf_counter(), True, ""
        try:
            seen, ended = await self._act(taken.action)
        except SandboxEndedError as error:
            seen, ended = Observation(text=str(error), effect=Effect.ERROR), True
            alive = False
        except SurfaceEndedError as error:
            seen, ended = Observation(text=str(error), effect=Effect.ERROR), True
        step = Step(len(self.steps), taken, seen, time.perf_counter() - started)
        over = ended or step.index + 1 >= self._definition.max_steps
        if alive:
            try:
                told = await self._pass_time(step, over)
            except SandboxDiedError as error:
                if not isinstance(error, SandboxEndedError):
                    raise
                told, ended = str(error), True
            except SandboxError as error:
                # Nobody but the agent has been in there: what does not stop, fit or answer when it
                # is looked at is what the agent has left, and it is judged.
                told, ended = f"the episode ends here: {error}", True
        observation = _with_lines(seen, told)
        happened = self.dynamics.take_events()
        self.steps.append(replace(step, observation=observation, events=happened))
        if self._foreign is not None:
            self._foreign.note(self.steps[-1])
        if not ended and not over:
            return Transition(observation)
        verdict = await self.finish()
        return Transition(observation, verdict.score, ended, not ended, verdict)

    async def _act(self, action: Action) -> tuple[Observation, bool]:
        """Return what an action leads to, and whether it ends the episode."""
        try:
            if action.tool == "" and action.arguments.keys() == {"malformed"}:
                raise ActionError(str(action.arguments["malformed"])[:200])
            check_call(action, self._definition.tools)
        except ActionError as error:
            return Observation(text=f"error: {error}", effect=Effect.ERROR), False
        if action.tool == SUBMIT.name:
            return await self._submit(str(action.arguments.get("answer", "")))
        if action.tool == GIVE_UP.name:
            self._gave_up = str(action.arguments["reason"])
            return Observation(text="gave up"), True
        call = self._owners[action.tool].call
        return await self.dynamics.call(action, lambda legal: survived(call, legal)), False

    async def _submit(self, answer: str) -> tuple[Observation, bool]:
        if self._foreign is not None:
            following = await self._foreign.submit(self.sandbox, answer)
            if following is not None:
                return Observation(text=following), False
        self._answer = answer
        return Observation(text="submitted"), True

    async def _pass_time(self, step: Step, over: bool) -> str:
        return await self.dynamics.advance(
            self.sandbox, self.steps, step, answer=self._answer, gave_up=self._gave_up, over=over
        )

    async def finish(self) -> Verdict:
        """End the episode and judge what is there now."""
        self.over = True
        try:
            with contextlib.suppress(SandboxEndedError, SandboxTimeoutError):
                self.audit = await self.sandbox.audit()
            if self._foreign is not None:
                # Their tests meet what the agent left running, so nothing is ended before them.
                return await self._foreign.finish(self.sandbox, gave_up=self._gave_up is not None)
            return await self._judge(await self.sandbox.seal(), over=True)
        finally:
            await self._release()

    async def judge_now(self) -> Verdict:
        """Judge what is there now as if the episode ended here; see `Environment.judge_now`."""
        if self._foreign is not None:
            task = self._definition.task.id
            raise SurfaceError(f"{task}: its own tests judge it, and only at the end")
        self.audit = await self.sandbox.audit()
        return await self._judge(await self.sandbox.snapshot())

    async def _judge(self, after: Snapshot, *, over: bool = False) -> Verdict:
        """Judge these files, with what else is known of the episode, and drop them."""
        provider = self._definition.provider
        try:
            try:
                changes = await provider.compare(self._prepared.snapshot, after)
            except SandboxLimitError as error:
                return failed(self.instance, f"what the episode left cannot be judged: {error}")
            end = EpisodeEnd(
                after=after,
                changes=changes,
                audit=self.audit,
                steps=tuple(self.steps),
                answer=self._answer,
                gave_up=self._gave_up,
                services=self.dynamics.services_seen(),
            )
            ended = EndedEpisode(
                self._definition, self.instance, self._prepared, end, self.dynamics.latched
            )
            verdict = await ended.judge()
            if over and self.on_end is not None:
                await self.on_end(ended, verdict)
            return verdict
        finally:
            await provider.discard(after)

    async def close(self) -> None:
        """End the episode unjudged where it is not over. Never raises."""
        if not self.over:
            self.over = True
            await self._release()

    async def _release(self) -> None:
        for surface in self._definition.surfaces:
            with contextlib.suppress(SandboxError):
                await surface.close()
        if self._conversation is not None:
            await self._conversation.close()
        await self.sandbox.close()
        self.dynamics.close()
        if self._foreign is not None:
            self._foreign.close()
        if self.backend is not None:
            self.backend.close()


def _with_lines(observation: Observation, told: str) -> Observation:
    """Return what the agent sees with lines below it, as it was where there are none."""
    if not told:
        return observation
    gap = "\n" if observation.text and not observation.text.endswith("\n") else ""
    return replace(observation, text=f"{observation.text}{gap}{told}")


def _read_action(value: object) -> Action:
    """Read an action; anything else becomes a record of the complaint, which replays as such."""
    try:
        return Action.from_json(value)
    except ActionError as error:
        return malformed(error)
