"""Resolves the sandbox of a task: that of its environment, or one that the task brings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentgym.env.spec import EnvSpec, load_env_spec, spec_of
from agentgym.records import Limits, Recipe, TaskSandbox, ToolSpec
from agentgym.sandbox import absent
from agentgym.sandbox.build.builder import Builds, Tell
from agentgym.sandbox.build.plan import Plan
from agentgym.sandbox.build.planner import with_packages
from agentgym.sandbox.image_fallback import Sources, fetch, plan_context, plan_image
from agentgym.sandbox.images import find_image
from agentgym.sandbox.recipe import load_plan, load_recipe, settings_of
from agentgym.sandbox.rootimage import user_of
from agentgym.task.model import Task
from agentgym.task.prepared_packages import VARIABLE
from agentgym.task_formats import plugin_errors

_LIMITS = Limits(memory_mb=4096, pids=4096, disk_mb=20480)


@dataclass(frozen=True, slots=True)
class ResolvedTask:
    """The environment, recipe and tools of a task's episodes.

    Attributes:
        spec: Environment of the task.
        recipe: Recipe of its sandbox, before the task's limits are applied.
        tools: Service tools that the task brings.
        has_sandbox: Whether its episodes have a sandbox.
    """

    spec: EnvSpec
    recipe: Recipe
    tools: tuple[ToolSpec, ...]
    has_sandbox: bool


def resolve_task(task: Task) -> ResolvedTask:
    """Return the resolved task; builds nothing.

    Raises:
        AgentGymError: The environment, the recipe or the Dockerfile cannot be read.
    """
    spec, foreign = spec_of(task), task.foreign
    tools = () if foreign is None else foreign.tools
    if foreign is not None and foreign.sandbox is not None:
        return ResolvedTask(spec, sandbox_recipe(foreign.sandbox, foreign.title), tools, True)
    if spec.sandbox is None:
        return ResolvedTask(spec, absent.RECIPE, tools, False)
    return ResolvedTask(spec, load_recipe(spec.sandbox), tools, True)


def needs_sandbox(task: Task) -> bool:
    """Return whether episodes of a task need a sandbox.

    Raises:
        AgentGymError: The environment cannot be read.
    """
    brings_one = task.foreign is not None and task.foreign.sandbox is not None
    return brings_one or spec_of(task).sandbox is not None


def sandbox_recipe(sandbox: TaskSandbox, name: str) -> Recipe:
    """Return the recipe of a sandbox that a task brings.

    Raises:
        SandboxError: The Dockerfile uses an unsupported feature.
    """
    plan = sandbox_plan(sandbox, Sources())
    found = settings_of(plan)
    limits = replace(
        _LIMITS,
        memory_mb=sandbox.memory_mb or _LIMITS.memory_mb,
        disk_mb=sandbox.disk_mb or _LIMITS.disk_mb,
    )
    return Recipe(
        name=name,
        image=plan.name,
        network=sandbox.network,
        allow=sandbox.allow,
        limits=limits if sandbox.cpus is None else replace(limits, cpus=sandbox.cpus),
        env={**found.env, **sandbox.env},
        user=user_of(sandbox.user or found.user),
        workdir=sandbox.workdir or found.workdir or "/",
    )


def sandbox_plan(sandbox: TaskSandbox, sources: Sources) -> Plan:
    """Return the plan of the image of a sandbox that a task brings.

    Raises:
        SandboxError: The Dockerfile uses an unsupported feature.
    """
    if sandbox.context is not None:
        plan = plan_context(sandbox.context, sources)
    else:
        plan = plan_image(sandbox.image, sources)
    return with_packages(plan, sandbox.prepared.apt, sandbox.prepared.pip, lambda _: VARIABLE)


def image_fallbacks(task: Task) -> dict[str, str]:
    """Return what replaces an image, a package or a program of a task, by its name.

    Raises:
        SandboxError: A Dockerfile uses an unsupported feature.
    """
    foreign = task.foreign
    if foreign is None:
        return {}
    sources = Sources()
    for sandbox in foreign.sandboxes:
        sandbox_plan(sandbox, sources)
    found = dict(sources.image_fallbacks)
    for sandbox in foreign.sandboxes:
        names = (*sandbox.prepared.apt, *sandbox.prepared.pip)
        found |= {f"package {name}": VARIABLE for name in names}
    with plugin_errors(f"task format {foreign.format!r}: no replacements of {task.id}"):
        return {**found, **foreign.rules.replacements()}


def build_task(task: Task, builds: Builds, tell: Tell) -> None:
    """Build everything that a task needs and this machine lacks.

    Args:
        task: The task.
        builds: Executes the builds.
        tell: Called with the progress of the builds.

    Raises:
        AgentGymError: A build step failed, or a dependency is unavailable.
    """
    foreign = task.foreign
    brought = () if foreign is None else foreign.sandboxes
    if not (foreign and foreign.sandbox):
        recipe = load_env_spec(task.manifest.env).sandbox
        if recipe is not None:
            _build(load_plan(recipe), recipe, builds, tell)
    if foreign is None:
        return
    sources = Sources()
    for sandbox in brought:
        sandbox_plan(sandbox, sources)
    fetch(sources.images, builds, tell)
    for sandbox in brought:
        _build(sandbox_plan(sandbox, Sources()), foreign.title, builds, tell)
    with plugin_errors(f"task format {foreign.format!r} cannot prepare {task.id}"):
        foreign.rules.prepare(builds, tell)


def _build(plan: Plan | None, name: str, builds: Builds, tell: Tell) -> None:
    if plan is not None and find_image(plan.name) is None:
        tell(f"building {name}")
        builds.build(plan)
