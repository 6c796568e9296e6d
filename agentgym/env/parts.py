"""The parts of one episode: sandbox, services, surfaces, world, user, rules of another format.

This module creates, closes and forks these parts. A part that cannot be forked raises an
UnsupportedError that names it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from agentgym.env.control import MESSAGE_USER
from agentgym.env.conversation import Conversation
from agentgym.env.dynamics import Dynamics
from agentgym.env.ending import with_services
from agentgym.env.hosting import STARTS, prepare_services
from agentgym.env.resolved_task import sandbox_recipe
from agentgym.env.resources import SharedResources
from agentgym.env.rules import GuardedRules, open_rules
from agentgym.errors import SandboxError
from agentgym.protocols import (
    AuditedSurface,
    EpisodeContext,
    FinishingSurface,
    Sandbox,
    Services,
    Sites,
    Surface,
    SurfaceContext,
    UserWorld,
)
from agentgym.records import Action, Audit, Json, Observation, Recipe, Snapshot, TaskSandbox
from agentgym.services.backend import Backend
from agentgym.task.model import Instance
from agentgym.task.setup import Prepared
from agentgym.user.service_access import UserServiceAccess
from agentgym.verify.milestones import open_milestones
from agentgym.verify.thread import threaded
from agentgym.verify.worker.pool import WORKERS

Call: TypeAlias = Callable[[Action], Awaitable[Observation]]


@dataclass(eq=False, kw_only=True, slots=True)
class EpisodeParts:
    """The parts of one episode; made by `make_parts` or `fork_parts`.

    Attributes:
        environment: The environment, shared with other episodes.
        instance: The task with its parameters.
        prepared: Its initial state, and the gold for its checks.
        sandbox: Its sandbox.
        backend: Its services, None if the environment has no services.
        dynamics: Its faults and events.
        conversation: The user beside the agent, None if the task has no user.
        rules: The rules of a task of another format, None for a task of agentgym's own.
        surfaces: Its surfaces, in the order of the environment's kinds.
        earlier: Audits of the sandboxes from which this one was forked.
        calls: Function that executes a legal call, by the tool's name; `attach` fills it.
        executed: Number of calls of each surface since the start or the fork, by its name.
        alone: Whether the surfaces share no process with other episodes.
        kept: The files of a computer that was suspended and has not come back; else None.
    """

    environment: SharedResources
    instance: Instance
    prepared: Prepared
    sandbox: Sandbox
    backend: Backend | None
    dynamics: Dynamics
    conversation: Conversation | None
    rules: GuardedRules | None
    surfaces: list[Surface] = field(default_factory=list)
    earlier: Audit = field(default_factory=Audit)
    calls: dict[str, Call] = field(default_factory=dict)
    executed: dict[str, int] = field(default_factory=dict)
    alone: bool = False
    kept: Snapshot | None = None

    async def attach(self) -> None:
        """Attach a new surface of every kind.

        Raises:
            AgentGymError: A surface cannot be attached.
        """
        given = (self.sandbox, self._services(), self._sites(), self.instance.seed)
        context = SurfaceContext(*given, alone=self.alone)
        for kind in self.environment.surface_kinds:
            surface = await kind.attach(context)
            self.surfaces.append(surface)
            self.calls |= dict.fromkeys(
                [tool.name for tool in kind.tools()], self._counted(kind.name, surface.call)
            )
        if self.conversation is not None:
            self.calls[MESSAGE_USER.name] = self.conversation.call

    async def attach_saved(self, saved: Sequence[Mapping[str, Json]]) -> None:
        """Attach a new surface of every kind, and bring each into a saved state.

        Raises:
            AgentGymError: A surface cannot be attached, or does not come back.
        """
        await self.attach()
        for surface, state in zip(self.surfaces, saved, strict=True):
            await surface.load(state)

    def keep(self, files: Snapshot, audit: Audit) -> None:
        """Take over the files of a computer that is about to end, and its audit until then."""
        self.kept, self.earlier = files, audit
        self.executed.clear()
        self.dynamics.follow(audit)

    async def drop_kept(self) -> None:
        """Discard the kept files."""
        kept, self.kept = self.kept, None
        if kept is not None:
            await self.environment.provider.discard(kept)

    async def end_computer(self) -> None:
        """End the surfaces and the sandbox. Never raises."""
        for surface in self.surfaces:
            with contextlib.suppress(SandboxError):
                await surface.close()
        self.surfaces.clear()
        await self.sandbox.close()

    async def detach(self) -> None:
        """End the surfaces and the sandbox, and discard kept files. Never raises."""
        await self.end_computer()
        await self.drop_kept()

    async def seal(self) -> Snapshot:
        """End the sandbox and return its files; the caller discards them.

        Raises:
            SandboxError: The sandbox is gone, or its files cannot be kept.
        """
        kept, self.kept = self.kept, None
        return await self.sandbox.seal() if kept is None else kept

    def _counted(self, name: str, call: Call) -> Call:
        """Return a function that executes a call of a surface and counts it."""
        self.executed[name] = 0

        async def counted(action: Action) -> Observation:
            self.executed[name] = self.executed.get(name, 0) + 1
            return await call(action)

        return counted

    def _sites(self) -> Sites | None:
        """Return the web sites over the services, None if the environment has no sites."""
        sites, instance = self.environment.sites, self.instance
        if not sites:
            return None
        # Most environments have no sites, and should start without a template engine.
        from agentgym.sites.hosts import open_sites

        seed = f"{instance.task.id}:{instance.seed}"
        return open_sites(
            sites,
            services=self._services(),
            reader=self.backend,
            seed=seed,
            sandbox=self.sandbox,
        )

    def _services(self) -> Services | None:
        own = None if self.rules is None else self.rules.services
        return self.dynamics.services if own is None else own

    @property
    def user_access(self) -> UserWorld:
        """The simulated user's access to services."""
        own = None if self.rules is None else self.rules.customer
        return UserServiceAccess(self.backend) if own is None else own

    async def audit(self) -> Audit:
        """Return the audit, which the guest cannot reach; it includes the time before a fork.

        Raises:
            SandboxError: The sandbox does not answer.
        """
        audit = Audit() if self.kept is not None else await self.sandbox.audit()
        for surface in self.surfaces:
            if isinstance(surface, AuditedSurface):
                audit = audit.beside(surface.audit())
        audit = replace(audit, surface_calls=dict(self.executed))
        return audit.following(self.earlier)

    async def finish(self) -> None:
        """Let surfaces do what they have to before the state is judged. Never raises."""
        for surface in self.surfaces:
            if isinstance(surface, FinishingSurface):
                # The agent's programs answer, so an error of any kind is their doing.
                with contextlib.suppress(Exception):
                    await surface.finish()

    @property
    def ended(self) -> bool:
        """Whether a surface has ended the episode."""
        return any(isinstance(s, AuditedSurface) and s.ended for s in self.surfaces)

    async def close(self) -> None:
        """End every part. Never raises."""
        await self.detach()
        if self.conversation is not None:
            await self.conversation.close()
        self.dynamics.close()
        if self.rules is not None:
            self.rules.close()
        if self.backend is not None:
            self.backend.close()


async def make_parts(environment: SharedResources, instance: Instance) -> EpisodeParts:
    """Prepare an instance, start its sandbox and fork its services.

    The surfaces are attached later, after the rules of the task have prepared the sandbox.

    Raises:
        TaskError: The setup is broken.
        SandboxError: No sandbox could be started.
    """
    # The processes that judge load while the sandbox starts.
    if not WORKERS.is_warm:
        threaded(WORKERS.warm)
    prepared = await environment.prepare_instance(instance)
    begun = None
    if environment.services is not None:
        begun = await STARTS.run(prepare_services, environment.services, instance)
        prepared = with_services(prepared, begun)
    async with AsyncExitStack() as made:
        milestones = await open_milestones(instance, prepared, environment.provider)
        if milestones is not None:
            made.callback(milestones.close)
        untouched = _untouched(environment, prepared)
        sandbox = await untouched()
        made.push_async_callback(sandbox.close)
        backend, start = None, None
        if begun is not None:
            backend, start = await STARTS.run(begun.fork), begun.snapshot
            made.callback(backend.close)
        dynamics = Dynamics(instance, milestones, untouched, backend, start=start)
        task, conversation, rules = instance.task, None, None
        if task.user is not None:
            conversation = Conversation(task.user, environment.user, task.manifest.replies)
        if task.foreign is not None:
            rules = _open_rules(environment, instance, prepared, backend)
        made.pop_all()
    return EpisodeParts(
        environment=environment,
        instance=instance,
        prepared=prepared,
        sandbox=sandbox,
        backend=backend,
        dynamics=dynamics,
        conversation=conversation,
        rules=rules,
    )


def _untouched(
    environment: SharedResources, prepared: Prepared
) -> Callable[[], Awaitable[Sandbox]]:
    async def start() -> Sandbox:
        return await environment.provider.start(environment.recipe, prepared.snapshot)

    return start


def _open_rules(
    environment: SharedResources, instance: Instance, prepared: Prepared, backend: Backend | None
) -> GuardedRules:
    """Return the rules of an episode that is about to begin.

    Raises:
        AgentGymError: The rules cannot be opened.
    """
    foreign = instance.task.foreign
    assert foreign is not None, "only such a task has rules"

    @contextlib.asynccontextmanager
    async def pristine() -> AsyncIterator[EpisodeContext]:
        services = None
        if environment.services is not None:
            begun = await STARTS.run(prepare_services, environment.services, instance)
            services = await STARTS.run(begun.fork)
        try:
            yield _context(environment, instance, prepared, services)
        finally:
            if services is not None:
                services.close()

    context = _context(environment, instance, prepared, backend)
    return open_rules(foreign.rules, context, foreign.format, pristine)


def _context(
    environment: SharedResources, instance: Instance, prepared: Prepared, backend: Backend | None
) -> EpisodeContext:
    """Return what the rules of a task of another format may use."""
    foreign = instance.task.foreign
    assert foreign is not None, "only such a task has rules"
    return EpisodeContext(
        provider=environment.provider,
        recipe=environment.recipe,
        untouched=_untouched(environment, prepared),
        recipe_of=functools.partial(_recipe_of, environment),
        seed=instance.seed,
        offline=environment.offline,
        judge=environment.judge,
        services=backend,
        tests_s=foreign.tests_s,
    )


def _recipe_of(environment: SharedResources, sandbox: TaskSandbox) -> Recipe:
    """Return the recipe of another sandbox of the task.

    Raises:
        SandboxError: The Dockerfile uses an unsupported feature.
    """
    recipe = sandbox_recipe(sandbox, f"{environment.recipe.name}, another")
    if environment.offline:
        recipe = replace(recipe, network="none", allow=())
    lasting_s = environment.recipe.limits.wall_s
    return replace(recipe, limits=replace(recipe.limits, wall_s=lasting_s))


async def fork_parts(parts: EpisodeParts) -> EpisodeParts:
    """Return parts of another episode in the same state; the originals stay in use.

    Files, rows and the memory of each part are copied. Processes are not: those of a surface or of
    the recipe start anew, and all others are absent.

    Raises:
        UnsupportedError: A part cannot be forked; the message names it.
        SandboxError: The sandbox died, or a second one cannot be started.
    """
    async with AsyncExitStack() as made:
        backend = None
        if parts.backend is not None:
            backend = await STARTS.run(parts.backend.fork)
            made.callback(backend.close)
        rules = None
        if parts.rules is not None:
            # First, because it may refuse, and nothing else was done yet.
            context = _context(parts.environment, parts.instance, parts.prepared, backend)
            rules = parts.rules.fork(context)
            made.callback(rules.close)
        saved = [await surface.save() for surface in parts.surfaces]
        earlier = await parts.audit()
        milestones = await open_milestones(
            parts.instance, parts.prepared, parts.environment.provider
        )
        if milestones is not None:
            made.callback(milestones.close)
        dynamics = parts.dynamics.fork(milestones, backend, earlier)
        conversation = None
        if parts.conversation is not None:
            own = None if rules is None else rules.customer
            access = UserServiceAccess(backend) if own is None else own
            conversation = parts.conversation.fork(access, dynamics.note)
            made.push_async_callback(conversation.close)
        sandbox = await parts.sandbox.fork()
        made.push_async_callback(sandbox.close)
        child = EpisodeParts(
            environment=parts.environment,
            instance=parts.instance,
            prepared=parts.prepared,
            sandbox=sandbox,
            backend=backend,
            dynamics=dynamics,
            conversation=conversation,
            rules=rules,
            earlier=earlier,
            alone=parts.alone,
        )
        made.pop_all()
    try:
        await child.attach_saved(saved)
    except BaseException:
        await child.close()
        raise
    return child
