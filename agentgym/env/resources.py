"""Resources that the episodes of one task share: computer, services, surfaces, tools and limits.

Everything here is found and checked once, before the first episode.
"""

from __future__ import annotations

import asyncio
import functools
import operator
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Protocol, Self

from agentgym.env.answer import submit_tool
from agentgym.env.control import GIVE_UP
from agentgym.env.conversation import agent_tools, check_user
from agentgym.env.dynamics import check_dynamics
from agentgym.env.resolved_task import resolve_task
from agentgym.env.seeds import read_seed
from agentgym.env.spec import answer_of
from agentgym.errors import ConfigError, SurfaceError
from agentgym.protocols import Judge, SandboxProvider
from agentgym.records import Capability, ObservationLimits, Recipe, Snapshot
from agentgym.sandbox.absent import NOTHING, NoSandboxProvider
from agentgym.surfaces.schemas import ToolForm, tool_schemas
from agentgym.task.model import Instance, Task
from agentgym.task.setup import Prepared, prepare
from agentgym.task.template import canonical
from agentgym.user.registry import user_spec
from agentgym.verify.room_cache import RoomCache

_OWN_WORDS: Final = ObservationLimits(text_bytes=4_096, data_bytes=1_024)
"""The environment's own share of an observation: notifications, and the user's leaving."""


class Live(Protocol):
    """An episode that is not over."""

    async def close(self) -> None:
        """End it without a verdict. Never raises."""


class SharedResources:
    """The resources of one task: made once, opened by the first episode, closed after the last.

    The attributes do not change, but for `live` and `is_closed`.

    Args:
        task: The task.
        provider: Starts the sandboxes; its owner closes it, because environments share it. It is
            unused if the environment has no sandbox.
        max_steps: Overrides the limit of the task and of the environment.
        judge: Judge for checks that need one; None for the judge that AGENTGYM_JUDGE names.
        offline: Whether sandboxes have no network, whatever the task allows.
        room_cache: Cache of results from clean rooms of the task's other episodes; by default
            every episode is judged without a cache.
        user: Spec of the simulated user, if the task has one; empty for the user that
            AGENTGYM_USER names, else the script.

    Raises:
        ConfigError: `max_steps` is not a positive integer.
        TaskError: A fault, an event or the user refers to something that does not exist.
        UnsupportedError: The task has milestones and the provider cannot read a running sandbox.

    Attributes:
        task: The task.
        about: Text below the instruction; ``{{now}}`` stands for the day and the logical time.
        provider: Starts the sandboxes.
        recipe: Recipe of the sandboxes.
        limits: Limits of a sandbox while the agent acts: the task's own, on top of the recipe's.
        services: Services that each episode forks; None if the environment has no services.
        sites: Web sites over the services of each episode; empty if no surface shows them.
        surface_kinds: Kinds of the surfaces through which the agent acts.
        tools: The surfaces' tools, `message_user` if there is a user, `submit`, `give_up`.
        answer: What `submit` takes.
        observation_limits: Largest size of an observation.
        max_steps: Largest number of steps in an episode.
        offline: Whether sandboxes have no network.
        user: Spec of the simulated user, if the task has one.
        reaches_out: Whether an episode can change what outlives it: there is a network or no
            isolation, or a surface says so.
        judge: Judge for checks that need one.
        room_cache: Cache of results from clean rooms.
        live: Episodes that are not over.
        is_closed: Whether `close` was called.
    """

    def __init__(
        self,
        task: Task,
        provider: SandboxProvider,
        *,
        max_steps: int | None = None,
        judge: Judge | None = None,
        offline: bool = False,
        room_cache: RoomCache | None = None,
        user: str = "",
    ) -> None:
        whole = isinstance(max_steps, int) and not isinstance(max_steps, bool)
        if max_steps is not None and (not whole or max_steps < 1):
            raise ConfigError(f"max_steps: expected None or a positive integer, got {max_steps!r}")
        resolved = resolve_task(task)
        spec = resolved.spec
        if not resolved.has_sandbox:
            provider = NoSandboxProvider()
        own = () if task.user is None else task.user.own
        self.task, self.provider, self.about = task, provider, spec.about
        self.limits = task.manifest.limits.over(resolved.recipe.limits)
        self.recipe = _recipe(task, replace(resolved.recipe, limits=self.limits), offline)
        self.services = spec.find_services()
        self.surface_kinds = spec.make_surface_kinds(
            resolved.tools, withheld=own, limits=self.limits, has_sandbox=resolved.has_sandbox
        )
        shows_sites = any(getattr(kind, "uses_sites", False) for kind in self.surface_kinds)
        self.sites = spec.find_sites(has_sandbox=resolved.has_sandbox) if shows_sites else ()
        acting = agent_tools([t for kind in self.surface_kinds for t in kind.tools()], task)
        self.answer = answer_of(task)
        self.tools = (*acting, submit_tool(self.answer), GIVE_UP)
        self.max_steps = max_steps or task.manifest.max_steps or spec.max_steps
        self.reaches_out = (
            self.recipe.network != "none"
            or Capability.ISOLATION not in provider.capabilities
            or any(getattr(kind, "reaches_out", False) for kind in self.surface_kinds)
        )
        self.offline, self.judge, self.room_cache = offline, judge, room_cache
        self.user = user or user_spec()
        # The first observation shows all surfaces together.
        shown = [kind.limits for kind in self.surface_kinds]
        self.observation_limits = functools.reduce(operator.add, shown, _OWN_WORDS)
        # A program may also call service tools that no surface offers directly.
        called = dict.fromkeys(tool.name for tool in (*acting, *spec.service_tools(own)))
        check_dynamics(task, spec, list(called), provider)
        check_user(task, self.services)
        self.live: set[Live] = set()
        self.is_closed = self._opened = False
        self._opening = asyncio.Lock()
        self._latest: tuple[str, Prepared | None] = ("", None)

    def tool_schemas(self, form: ToolForm = "openai") -> list[dict[str, Any]]:
        """Return all tools as the ``tools`` parameter of a model's API.

        Args:
            form: ``"openai"`` (chat completions) or ``"anthropic"`` (messages).

        Raises:
            NotFoundError: The form is unknown.
        """
        return tool_schemas(self.tools, form)

    async def prepare(self, seed: int) -> tuple[Recipe, Snapshot]:
        """Return the recipe and snapshot for sandboxes of a seed; run the setup if it never ran.

        Raises:
            ConfigError: The seed is no integer from 0 on.
            TaskError: The template or the setup is broken.
            SandboxError: No sandbox could be started.
        """
        prepared = await self.prepare_instance(self.task.instance(read_seed(seed)))
        return self.recipe, prepared.snapshot

    async def prepare_instance(self, instance: Instance) -> Prepared:
        """Return the state that the setup of an instance leaves; see `prepare`."""
        if isinstance(self.provider, NoSandboxProvider):
            return Prepared(NOTHING, {})
        params, (latest, known) = canonical(instance.params), self._latest
        if known is not None and params == latest:
            # The setup was read for the last episode; its result may have been pruned since.
            snapshot = await self.provider.find(known.key)
            if snapshot is not None:
                return replace(known, snapshot=snapshot)
        prepared = await prepare(instance, self.provider, self.recipe)
        self._latest = params, prepared
        return prepared

    async def open(self) -> None:
        """Open the surface kinds, unless they are open.

        Raises:
            SurfaceError: A surface cannot be opened, or the environment is closed.
        """
        async with self._opening:
            self.refuse_if_closed()
            if self._opened:
                return
            async with AsyncExitStack() as opened:
                for kind in self.surface_kinds:
                    await kind.open()
                    opened.push_async_callback(kind.close)
                opened.pop_all()
            self._opened = True

    def refuse_if_closed(self) -> None:
        """Refuse to begin an episode after `close`.

        Raises:
            SurfaceError: The environment is closed.
        """
        if self.is_closed:
            raise SurfaceError("the environment is closed; make another one to start an episode")

    async def close(self) -> None:
        """End all live episodes without a verdict, then the shared resources. Never raises.

        The provider stays open. No further episode can be started.
        """
        self.is_closed = True
        await asyncio.gather(*(episode.close() for episode in list(self.live)))
        if self._opened:
            self._opened = False
            for kind in self.surface_kinds:
                await kind.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def _recipe(task: Task, recipe: Recipe, offline: bool) -> Recipe:
    """Return the recipe of the sandboxes, with limits for their whole life."""
    if offline:
        recipe = replace(recipe, network="none", allow=())
    if task.foreign is None or recipe.limits.wall_s is None:
        return recipe
    # The tests run in the same sandbox, after the agent's time.
    lasting_s = recipe.limits.wall_s + task.foreign.judging_s
    return replace(recipe, limits=replace(recipe.limits, wall_s=lasting_s))
