"""The asynchronous core of every environment: one task, a sandbox, surfaces, a verdict.

An illegal action and a failing command are observations. An exception means that a boundary
broke (task, sandbox, verifier); whoever runs the episode classifies it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentgym.env.control import GIVE_UP, MESSAGE_USER, SUBMIT
from agentgym.env.conversation import Conversation, agent_tools, check_user
from agentgym.env.foreign import ForeignEpisode, foreign_episode
from agentgym.env.ground import ground_of, whole_wall_s
from agentgym.env.hosting import ServicesStart, prepare_services
from agentgym.env.world import World, check_world
from agentgym.errors import (
    ActionError,
    ConfigError,
    SandboxEndedError,
    SandboxError,
    SurfaceError,
)
from agentgym.protocols import Judge, Sandbox, SandboxProvider, Services, Site, Surface, UserWorld
from agentgym.records import (
    Action,
    Audit,
    Decision,
    Effect,
    Happening,
    Observation,
    Recipe,
    Snapshot,
    Step,
    ToolSpec,
    Verdict,
)
from agentgym.sandbox.absent import NOTHING, NoSandboxProvider
from agentgym.services.backend import Backend
from agentgym.surfaces.calls import check_call
from agentgym.task.model import Instance, Task
from agentgym.task.setup import Prepared, prepare
from agentgym.user.world import ServicesOfUser
from agentgym.verify.grade import EpisodeEnd, grade
from agentgym.verify.memory import RoomMemory
from agentgym.verify.milestones import open_milestones


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


class Environment:
    """One task as an environment.

    Args:
        task: The task.
        provider: Starts the sandboxes; shared by many environments, closed by its owner. Not
            asked where the environment has no sandbox.
        max_steps: Overrides the task's and the environment's own limit.
        judge: Who decides what checks ask a judge; None: whom AGENTGYM_JUDGE names.
        offline: Sandboxes have no network, whatever the task allows.
        memory: What clean rooms answered when other episodes of the task were judged; by
            default every episode is judged on its own.
        user: Who plays the user of the task, if it has one; empty: whom AGENTGYM_USER names,
            else the script.

    Raises:
        ConfigError: `max_steps` is not a positive integer.
        TaskError: A fault, an event or the user of the task refers to something that is not there.
        UnsupportedError: The task has milestones and the provider cannot look into a sandbox.

    Attributes:
        provider: Who starts the sandboxes.
        limits: Upper bounds of its sandbox: the recipe's, the task's own put over them.
        surfaces: What the agent acts through.
        tools: The surfaces' tools, `message_user` where there is a user, `submit`, `give_up`.
        instance: The task with its slots filled, from the last `reset`.
        reset_s: Seconds the last reset took to start from the prepared snapshot; the setup,
            which runs once, is not counted.
        steps: The steps of the present episode.
        audit: What the sandbox's keepers saw, once the episode is over.
        world: What happens around the agent in the present episode.
        shows_pictures: Whether observations may have an image.
    """

    def __init__(
        self,
        task: Task,
        provider: SandboxProvider,
        *,
        max_steps: int | None = None,
        judge: Judge | None = None,
        offline: bool = False,
        memory: RoomMemory | None = None,
        user: str = "",
    ) -> None:
        if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 1):
            raise ConfigError(f"max_steps: expected None or a positive integer, got {max_steps!r}")
        ground = ground_of(task)
        spec, recipe = ground.spec, ground.recipe
        if spec.sandbox is None and task.sandbox_rules is None:
            provider = NoSandboxProvider()
        self.task = task
        self.max_steps = max_steps or task.manifest.max_steps or spec.max_steps
        self.instance: Instance | None = None
        self.reset_s = 0.0
        self.steps: list[Step] = []
        self.audit = Audit()
        self.provider = provider
        self._judge, self._memory = judge, memory
        self.limits = task.manifest.limits.over(recipe.limits)
        self._recipe = replace(recipe, limits=self.limits)
        self._offline = offline
        if offline:
            self._recipe = replace(self._recipe, network="none", allow=())
        if task.sandbox_rules is not None:
            # The tests run in the same sandbox, after the agent's time.
            lasting = replace(self.limits, wall_s=whole_wall_s(task.sandbox_rules))
            self._recipe = replace(self._recipe, limits=lasting)
        self._foreign: ForeignEpisode | None = None
        own = () if task.user is None else task.user.own
        self.surfaces: list[Surface] = spec.make_surfaces(ground.tools, withheld=own)
        self._services = spec.find_services()
        self.shows_pictures = any(surface.pictures for surface in self.surfaces)
        acting = agent_tools([tool for s in self.surfaces for tool in s.tools()], task.user)
        self.tools: tuple[ToolSpec, ...] = (*acting, SUBMIT, GIVE_UP)
        self._owners: dict[str, Surface | Conversation] = {
            tool.name: s for s in self.surfaces for tool in s.tools()
        }
        self._conversation: Conversation | None = None
        if task.user is not None:
            self._conversation = Conversation(task.user, user)
            self._owners[MESSAGE_USER.name] = self._conversation
        # A program may call what is offered in no other way.
        called = dict.fromkeys(tool.name for tool in (*acting, *spec.service_tools(own)))
        check_world(task, spec, list(called), provider)
        check_user(task, self._services)
        self.world: World | None = None
        self._backend: Backend | None = None
        self._sandbox: Sandbox | None = None
        self._prepared: Prepared | None = None
        self._answer: str | None = None
        self._gave_up: str | None = None

    async def reset(self, seed: int) -> Observation:
        """Start a new episode and return the instruction.

        Raises:
            TaskError: The template or the setup is broken.
            SandboxError: No sandbox could be started.
        """
        await self.close()
        self.steps, self._answer, self._gave_up = [], None, None
        self.audit = Audit()
        self.instance = self.task.instance(seed)
        self._prepared = await self._prepare_files(self.instance)
        start: ServicesStart | None = None
        if self._services is not None:
            start = prepare_services(self._services, self.instance)
            gold = {**self._prepared.gold, **start.gold}
            self._prepared = replace(self._prepared, gold=gold)
        milestones = await open_milestones(self.instance, self._prepared, self.provider)
        snapshot = self._prepared.snapshot
        started = time.perf_counter()
        if self._services is not None and start is not None:
            self._backend = Backend(self._services, start.snapshot)
        self.world = World(
            self.instance,
            milestones,
            lambda: self.provider.start(self._recipe, snapshot),
            self._backend,
        )
        self._sandbox = await self.provider.start(self._recipe, self._prepared.snapshot)
        services: Services | None = self.world.services
        reach: UserWorld | None = ServicesOfUser(self._backend)
        own_words = ""
        if self.task.foreign is not None:
            self._foreign = foreign_episode(
                self.task.foreign,
                self.provider,
                self._recipe,
                offline=self._offline,
                judge=self._judge,
            )
            own_words = await self._foreign.begin(self._sandbox)
            services = self._foreign.services
            reach = self._foreign.customer
        for surface in self.surfaces:
            await surface.open(Site(self._sandbox, services))
        self.reset_s = time.perf_counter() - started
        told = await self.world.begin(self._sandbox)
        first = _with_lines(Observation(text=self.instance.instruction), own_words)
        first = _with_lines(first, told)
        if self._conversation is not None and reach is not None:
            note = self.world.note
            opening = await self._conversation.begin(self.instance, reach, note)
            first = _with_lines(first, opening)
        # A policy may build on the instruction alone and never read the first observation.
        self.instance = replace(self.instance, instruction=first.text)
        return first

    async def prepare(self, seed: int) -> tuple[Recipe, Snapshot]:
        """Run the setup for a seed where nobody has, and return what its sandboxes start from.

        Raises:
            TaskError: The template or the setup is broken.
            SandboxError: No sandbox could be started.
        """
        prepared = await self._prepare_files(self.task.instance(seed))
        return self._recipe, prepared.snapshot

    async def _prepare_files(self, instance: Instance) -> Prepared:
        if isinstance(self.provider, NoSandboxProvider):
            return Prepared(NOTHING, {})
        return await prepare(instance, self.provider, self._recipe)

    @property
    def waited_s(self) -> float:
        """Seconds that the agent has waited for its user in this episode."""
        return 0.0 if self._conversation is None else self._conversation.waited_s

    async def step(self, decision: object, *, recorded: Sequence[Happening] = ()) -> Transition:
        """Execute one action.

        Args:
            decision: A `Decision`, an `Action` or an action as JSON. What is none of them is
                answered like an illegal action: it costs a step and the observation says why.
            recorded: What happened in this step, where it is executed again. A user who would not
                surely answer the same again is not asked again.

        Raises:
            SurfaceError: There is no episode to step; call `reset`.
            SandboxError: The sandbox died.
            TaskError: The script of an event fails, whatever the agent has done.
            UserError: The user failed.
        """
        if self._sandbox is None or self.world is None:
            raise SurfaceError("no episode is running; call reset first")
        taken = decision if isinstance(decision, Decision) else Decision(_read_action(decision))
        if self._conversation is not None:
            self._conversation.expect(recorded)
        started = time.perf_counter()
        observation, ended, alive = Observation(text=""), False, True
        try:
            observation, ended = await self._act(taken.action, self.world)
        except SandboxEndedError as error:
            observation, ended = Observation(text=str(error), effect=Effect.ERROR), True
            alive = False
        step = Step(len(self.steps), taken, observation, time.perf_counter() - started)
        over = ended or step.index + 1 >= self.max_steps
        if alive:
            try:
                told = await self.world.advance(
                    self._sandbox,
                    self.steps,
                    step,
                    answer=self._answer,
                    gave_up=self._gave_up,
                    over=over,
                )
            except SandboxEndedError as error:
                told, ended = str(error), True
            observation = _with_lines(observation, told)
        happened = self.world.take_happenings()
        self.steps.append(replace(step, observation=observation, happenings=happened))
        if self._foreign is not None:
            self._foreign.note(self.steps[-1])
        if not ended and not over:
            return Transition(observation)
        verdict = await self.finish()
        return Transition(observation, verdict.score, ended, not ended, verdict)

    async def _act(self, action: Action, world: World) -> tuple[Observation, bool]:
        try:
            if action.tool == "" and action.arguments.keys() == {"malformed"}:
                raise ActionError(_short(action.arguments["malformed"]))
            check_call(action, self.tools)
        except ActionError as error:
            return Observation(text=f"error: {error}", effect=Effect.ERROR), False
        if action.tool == SUBMIT.name:
            answer = str(action.arguments.get("answer", ""))
            if self._foreign is not None and self._sandbox is not None:
                following = await self._foreign.submit(self._sandbox, answer)
                if following is not None:
                    return Observation(text=following), False
            self._answer = answer
            return Observation(text="submitted"), True
        if action.tool == GIVE_UP.name:
            self._gave_up = str(action.arguments["reason"])
            return Observation(text="gave up"), True
        return await world.call(action, self._owners[action.tool].call), False

    async def finish(self) -> Verdict:
        """End the episode and judge what is there now."""
        sandbox, prepared, instance = self._sandbox, self._prepared, self.instance
        if sandbox is None or prepared is None or instance is None:
            raise SurfaceError("no episode is running; call reset first")
        self._sandbox = None
        try:
            with contextlib.suppress(SandboxEndedError):
                self.audit = await sandbox.audit()
            if self._foreign is not None:
                # Their tests meet what the agent left running, so nothing is ended before them.
                return await self._foreign.finish(sandbox, gave_up=self._gave_up is not None)
            return await self._judge_files(await sandbox.seal(), instance, prepared)
        finally:
            await self._release(sandbox)

    @property
    def sandbox(self) -> Sandbox | None:
        """The sandbox of the running episode, for whoever looks on from outside."""
        return self._sandbox

    async def judge_now(self) -> Verdict:
        """Judge what is there now as if the episode ended here; it goes on.

        What is judged is a snapshot, so every check of the rubric can be asked.

        Raises:
            SurfaceError: No episode is running, or a foreign task's own tests judge it.
            SandboxError: The sandbox died.
        """
        sandbox, prepared, instance = self._sandbox, self._prepared, self.instance
        if sandbox is None or prepared is None or instance is None:
            raise SurfaceError("no episode is running; call reset first")
        if self._foreign is not None:
            raise SurfaceError(f"{self.task.id}: its own tests judge it, and only at the end")
        self.audit = await sandbox.audit()
        return await self._judge_files(await sandbox.snapshot(), instance, prepared)

    async def _judge_files(
        self, after: Snapshot, instance: Instance, prepared: Prepared
    ) -> Verdict:
        """Judge these files, with what else is known of the episode, and drop them."""
        try:
            end = EpisodeEnd(
                after=after,
                changes=await self.provider.compare(prepared.snapshot, after),
                audit=self.audit,
                steps=tuple(self.steps),
                answer=self._answer,
                gave_up=self._gave_up,
                services=self.world.services_seen() if self.world is not None else None,
            )
            return await grade(
                instance,
                end,
                prepared,
                provider=self.provider,
                recipe=self._recipe,
                judge=self._judge,
                memory=self._memory,
                latched=self.world.latched if self.world is not None else {},
            )
        finally:
            await self.provider.discard(after)

    async def close(self) -> None:
        """End the running episode unjudged. Never raises."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await self._release(sandbox)
        elif self._backend is not None:
            self._backend.close()

    async def _release(self, sandbox: Sandbox) -> None:
        for surface in self.surfaces:
            with contextlib.suppress(SandboxError):
                await surface.close()
        if self._conversation is not None:
            await self._conversation.close()
        await sandbox.close()
        if self._foreign is not None:
            self._foreign.close()
        if self._backend is not None:
            self._backend.close()


def _with_lines(observation: Observation, told: str) -> Observation:
    """Return what the agent sees with lines below it, as it was where there are none."""
    if not told:
        return observation
    gap = "\n" if observation.text and not observation.text.endswith("\n") else ""
    return replace(observation, text=f"{observation.text}{gap}{told}")


def _read_action(value: object) -> Action:
    """Read an action; what is none becomes a record of the complaint, which replays as such."""
    try:
        return Action.from_json(value)
    except ActionError as error:
        return Action("", {"malformed": _short(str(error))})


def _short(complaint: object) -> str:
    # It may quote what the agent sent, of any length and in any characters.
    return str(complaint).encode("ascii", "backslashreplace").decode()[:200]
