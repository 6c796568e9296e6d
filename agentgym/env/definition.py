"""What all episodes of an environment have in common: found once, checked before any begins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentgym.env.control import GIVE_UP, SUBMIT
from agentgym.env.conversation import agent_tools, check_user
from agentgym.env.dynamics import check_dynamics
from agentgym.env.resolved_task import resolve_task, whole_wall_s
from agentgym.errors import ConfigError
from agentgym.protocols import Judge, SandboxProvider, Surface
from agentgym.records import Limits, Recipe, ToolSpec
from agentgym.sandbox.absent import NOTHING, NoSandboxProvider
from agentgym.services.backend import ServiceSet
from agentgym.task.model import Instance, Task
from agentgym.task.setup import Prepared, prepare
from agentgym.user.registry import user_spec
from agentgym.verify.room_cache import RoomCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One task as an environment, before anything happens in it.

    Attributes:
        task: The task.
        about: What stands below the instruction; ``{{now}}`` is the day and the logical time.
        provider: Starts the sandboxes.
        recipe: What they are made of.
        limits: Upper bounds of a sandbox while the agent acts.
        services: What each episode has a fork of, None where there are no services.
        surfaces: What the agent acts through.
        tools: The surfaces' tools, `message_user` where there is a user, `submit`, `give_up`.
        max_steps: How many steps an episode has.
        offline: Sandboxes have no network, whatever the task allows.
        user: Who plays the user of the task, if it has one.
        judge: Who decides what checks ask a judge; None: whom AGENTGYM_JUDGE names.
        memory: What clean rooms answered when other episodes of the task were judged.
    """

    task: Task
    about: str
    provider: SandboxProvider
    recipe: Recipe
    limits: Limits
    services: ServiceSet | None
    surfaces: tuple[Surface, ...]
    tools: tuple[ToolSpec, ...]
    max_steps: int
    offline: bool
    user: str
    judge: Judge | None
    memory: RoomCache | None

    async def prepare(self, instance: Instance) -> Prepared:
        """Return what sandboxes of an instance start from, running its setup where nobody has.

        Raises:
            TaskError: The setup is broken.
            SandboxError: No sandbox could be started.
        """
        if isinstance(self.provider, NoSandboxProvider):
            return Prepared(NOTHING, {})
        return await prepare(instance, self.provider, self.recipe)


def define(
    task: Task,
    provider: SandboxProvider,
    *,
    max_steps: int | None,
    judge: Judge | None,
    offline: bool,
    memory: RoomCache | None,
    user: str,
) -> Definition:
    """Find what the episodes of a task have in common; the arguments are those of `Environment`.

    Raises:
        ConfigError: `max_steps` is not a positive integer.
        TaskError: A fault, an event or the user of the task refers to something that is not there.
        UnsupportedError: The task has milestones and the provider cannot look into a sandbox.
    """
    if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 1):
        raise ConfigError(f"max_steps: expected None or a positive integer, got {max_steps!r}")
    resolved = resolve_task(task)
    spec = resolved.spec
    if spec.sandbox is None and task.sandbox_rules is None:
        provider = NoSandboxProvider()
    own = () if task.user is None else task.user.own
    surfaces = spec.make_surfaces(resolved.tools, withheld=own)
    services = spec.find_services()
    acting = agent_tools([tool for s in surfaces for tool in s.tools()], task.user)
    # A program may call what is offered in no other way.
    called = dict.fromkeys(tool.name for tool in (*acting, *spec.service_tools(own)))
    check_dynamics(task, spec, list(called), provider)
    check_user(task, services)
    limits = task.manifest.limits.over(resolved.recipe.limits)
    return Definition(
        task=task,
        about=spec.about,
        provider=provider,
        recipe=_recipe(task, replace(resolved.recipe, limits=limits), offline),
        limits=limits,
        services=services,
        surfaces=tuple(surfaces),
        tools=(*acting, SUBMIT, GIVE_UP),
        max_steps=max_steps or task.manifest.max_steps or spec.max_steps,
        offline=offline,
        user=user or user_spec(),
        judge=judge,
        memory=memory,
    )


def _recipe(task: Task, recipe: Recipe, offline: bool) -> Recipe:
    """Return what the sandboxes are made of for their whole life."""
    if offline:
        recipe = replace(recipe, network="none", allow=())
    if task.sandbox_rules is None:
        return recipe
    # The tests run in the same sandbox, after the agent's time.
    lasting = replace(recipe.limits, wall_s=whole_wall_s(task.sandbox_rules))
    return replace(recipe, limits=lasting)
