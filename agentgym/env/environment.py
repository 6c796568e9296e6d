"""The asynchronous core of every environment: one task, and one episode of it after the other.

What all episodes have in common is found once (`Definition`); what lives for one only is an
`Episode`, made by `reset` and replaced by the next.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.env.definition import define
from agentgym.env.dynamics import Dynamics
from agentgym.env.ending import EndedEpisode, judge_kept
from agentgym.env.episode import Episode, OnEnd, Transition, start_episode
from agentgym.errors import SurfaceError
from agentgym.protocols import Judge, Sandbox, SandboxProvider
from agentgym.records import (
    Audit,
    Json,
    Observation,
    Recipe,
    Snapshot,
    Step,
    StepEvent,
    Verdict,
)
from agentgym.surfaces.schemas import ToolForm, tool_schemas
from agentgym.task.model import Instance, Task
from agentgym.verify.room_cache import RoomCache


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
        max_steps: How many steps an episode has.
        shows_pictures: Whether observations may have an image.
        instance: The task with its slots filled, from the last `reset`.
        episode: What the last `reset` has begun, None where it could not be started.
        on_end: Called when an episode was judged, while its files are still there. Not called for
            foreign tasks, which are judged alive.
    """

    def __init__(
        self,
        task: Task,
        provider: SandboxProvider,
        *,
        max_steps: int | None = None,
        judge: Judge | None = None,
        offline: bool = False,
        memory: RoomCache | None = None,
        user: str = "",
    ) -> None:
        self._definition = definition = define(
            *(task, provider),
            max_steps=max_steps,
            judge=judge,
            offline=offline,
            memory=memory,
            user=user,
        )
        self.task, self.provider, self.limits = task, definition.provider, definition.limits
        self.surfaces, self.tools = definition.surfaces, definition.tools
        self.max_steps = definition.max_steps
        self.shows_pictures = any(surface.pictures for surface in self.surfaces)
        self.instance: Instance | None = None
        self.episode: Episode | None = None
        self.on_end: OnEnd | None = None

    def tool_schemas(self, form: ToolForm = "openai") -> list[dict[str, Any]]:
        """Return all tools as the ``tools`` parameter of a model's API.

        Args:
            form: ``"openai"`` (chat completions) or ``"anthropic"`` (messages).

        Raises:
            NotFoundError: There is no such form.
        """
        return tool_schemas(self.tools, form)

    async def reset(self, seed: int) -> Observation:
        """Start a new episode and return the instruction.

        Raises:
            TaskError: The template or the setup is broken.
            SandboxError: No sandbox could be started.
        """
        await self.close()
        self.episode = None
        self.instance = self.task.instance(seed)
        self.episode = await start_episode(self._definition, self.instance)
        self.episode.on_end = self._tell_end
        first = await self.episode.begin()
        self.instance = self.episode.instance
        return first

    async def prepare(self, seed: int) -> tuple[Recipe, Snapshot]:
        """Run the setup for a seed where nobody has, and return what its sandboxes start from.

        Raises:
            TaskError: The template or the setup is broken.
            SandboxError: No sandbox could be started.
        """
        prepared = await self._definition.prepare(self.task.instance(seed))
        return self._definition.recipe, prepared.snapshot

    async def judge_kept(
        self, seed: int, steps: Sequence[Step], audit: Audit, kept: Mapping[str, Json], state: bytes
    ) -> Verdict:
        """Judge an episode that is long over, from what was kept of it; see `env.ending`.

        Raises:
            ReplayError: The setup leaves something else today.
            RecordError: What was kept is damaged.
            AgentGymError: The task or the sandbox is broken.
        """
        instance = self.task.instance(seed)
        return await judge_kept(self._definition, instance, steps, audit, kept, state)

    async def step(self, decision: object, *, recorded: Sequence[StepEvent] = ()) -> Transition:
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
        return await self._running().step(decision, recorded)

    async def finish(self) -> Verdict:
        """End the episode and judge what is there now.

        Raises:
            SurfaceError: No episode is running.
        """
        return await self._running().finish()

    async def judge_now(self) -> Verdict:
        """Judge what is there now as if the episode ended here; it goes on.

        What is judged is a snapshot, so every check of the rubric can be asked.

        Raises:
            SurfaceError: No episode is running, or a foreign task's own tests judge it.
            SandboxError: The sandbox died.
        """
        return await self._running().judge_now()

    async def close(self) -> None:
        """End the running episode unjudged. Never raises."""
        if self.episode is not None:
            await self.episode.close()

    async def _tell_end(self, ended: EndedEpisode, verdict: Verdict) -> None:
        if self.on_end is not None:
            await self.on_end(ended, verdict)

    def _running(self) -> Episode:
        if self.episode is None or self.episode.over:
            raise SurfaceError("no episode is running; call reset first")
        return self.episode

    @property
    def steps(self) -> list[Step]:
        """The steps of the present episode."""
        return [] if self.episode is None else self.episode.steps

    @property
    def audit(self) -> Audit:
        """What the sandbox's audit holds, once the episode is over."""
        return Audit() if self.episode is None else self.episode.audit

    @property
    def reset_s(self) -> float:
        """Seconds the last reset took to start from what the setup, which runs once, has left."""
        return 0.0 if self.episode is None else self.episode.reset_s

    @property
    def began_s(self) -> float:
        """When the last reset's sandbox was started, in seconds since 1970; now if there is none.

        Times that programs in the sandbox show are not earlier, if they come from the clock.
        """
        return time.time() if self.episode is None else self.episode.began_s

    @property
    def prepared(self) -> str:
        """Digest of what the setup left for the present episode; empty if nothing is set up."""
        return "" if self.episode is None else self.episode.prepared

    @property
    def waited_s(self) -> float:
        """Seconds that the agent has waited for its user in this episode."""
        return 0.0 if self.episode is None else self.episode.waited_s

    @property
    def dynamics(self) -> Dynamics | None:
        """What happens around the agent in the present episode."""
        return None if self.episode is None else self.episode.dynamics

    @property
    def sandbox(self) -> Sandbox | None:
        """The sandbox of the running episode, for whoever looks on from outside."""
        return None if self.episode is None or self.episode.over else self.episode.sandbox
