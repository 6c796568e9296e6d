"""Resolves the sandbox of a task: the recipe of its environment, or its own Dockerfile."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentgym.env.spec import EnvSpec, load_env_spec, spec_of
from agentgym.records import Limits, Recipe, ToolSpec
from agentgym.sandbox import absent
from agentgym.sandbox.build.builder import Builds, Tell
from agentgym.sandbox.build.plan import Plan
from agentgym.sandbox.build.planner import with_packages
from agentgym.sandbox.image_fallback import Sources, fetch, plan_context, plan_image
from agentgym.sandbox.images import find_image
from agentgym.sandbox.recipe import load_plan, load_recipe, settings_of
from agentgym.sandbox.rootimage import user_of
from agentgym.task.foreign.prepared import VARIABLE
from agentgym.task.foreign.rules import Computer, SandboxRules
from agentgym.task.foreign.tau2.rules import Tau2Rules
from agentgym.task.model import Task
from agentgym.verify.foreign.requirements import ScriptRequirements, read_requirements
from agentgym.verify.foreign.toolkit import RECIPE, prepare_toolkit

_LIMITS = Limits(memory_mb=4096, pids=4096, disk_mb=20480)
_MARGIN_S = 300.0
"""Seconds besides the agent's and the tests': to copy the tests and to read the reward."""


@dataclass(frozen=True, slots=True)
class ResolvedTask:
    """The environment, recipe and tools of a task's episodes.

    Attributes:
        spec: Environment of the task.
        recipe: Recipe of its sandbox, before the task's limits are applied.
        tools: Service tools that the task brings.
    """

    spec: EnvSpec
    recipe: Recipe
    tools: tuple[ToolSpec, ...] = ()


def resolve_task(task: Task) -> ResolvedTask:
    """Return the resolved task; builds nothing.

    Raises:
        AgentGymError: The environment, the recipe or the Dockerfile cannot be read.
    """
    spec = spec_of(task)
    rules = task.sandbox_rules
    if rules is None:
        tools = task.foreign.domain.tools if isinstance(task.foreign, Tau2Rules) else ()
        recipe = absent.RECIPE if spec.sandbox is None else load_recipe(spec.sandbox)
        return ResolvedTask(spec, recipe, tools)
    recipe = computer_recipe(rules.computer, task.manifest.title)
    user = user_of(rules.agent_user or recipe.user)
    return ResolvedTask(spec, replace(recipe, user=user))


def needs_sandbox(task: Task) -> bool:
    """Return whether episodes of a task need a sandbox.

    Raises:
        AgentGymError: The environment cannot be read.
    """
    return task.sandbox_rules is not None or spec_of(task).sandbox is not None


def whole_wall_s(rules: SandboxRules) -> float:
    """Return the lifetime in seconds of a sandbox in which the agent acts and the tests run."""
    spent = sum(stage.agent_timeout_s + stage.test_timeout_s for stage in rules.stages)
    return spent + sum(hook.timeout_s for hook in rules.collect) + _MARGIN_S


def computer_recipe(computer: Computer, name: str) -> Recipe:
    """Return the recipe of a foreign task's sandbox.

    Raises:
        SandboxError: The Dockerfile uses an unsupported feature.
    """
    plan = computer_plan(computer, Sources())
    found = settings_of(plan)
    limits = replace(
        _LIMITS,
        memory_mb=computer.memory_mb or _LIMITS.memory_mb,
        disk_mb=computer.disk_mb or _LIMITS.disk_mb,
    )
    return Recipe(
        name=name,
        image=plan.name,
        network=computer.network,
        allow=computer.allow,
        limits=limits if computer.cpus is None else replace(limits, cpus=computer.cpus),
        env={**found.env, **computer.env},
        user=user_of(found.user),
        workdir=computer.workdir or found.workdir or "/",
    )


def computer_plan(computer: Computer, sources: Sources) -> Plan:
    """Return the plan of the image of a foreign task's sandbox.

    Raises:
        SandboxError: The Dockerfile uses an unsupported feature.
    """
    if computer.context is not None:
        plan = plan_context(computer.context, sources)
    else:
        plan = plan_image(computer.image, sources)
    return with_packages(plan, computer.prepared.apt, computer.prepared.pip, lambda _: VARIABLE)


def test_requirements(rules: SandboxRules) -> ScriptRequirements:
    """Return the network needs of a foreign task's test scripts."""
    texts = []
    for stage in rules.stages:
        files = [script for folder in stage.tests for script in sorted(folder.glob("*.sh"))]
        files += [stage.script_file] if stage.script_file is not None else []
        texts += [path.read_text("utf-8", "replace") for path in files if path.is_file()]
    return read_requirements(texts)


def image_fallbacks(task: Task) -> dict[str, str]:
    """Return, by image, the recipe that replaces it in a task's sandboxes or for its tests' Python.

    Raises:
        SandboxError: A Dockerfile uses an unsupported feature.
    """
    sources = Sources()
    for computer in _computers(task.sandbox_rules):
        computer_plan(computer, sources)
    found = dict(sources.image_fallbacks)
    if (rules := task.sandbox_rules) is not None:
        prepared = rules.computer.prepared
        found |= {f"package {name}": VARIABLE for name in (*prepared.apt, *prepared.pip)}
        if python := test_requirements(rules).python:
            found[f"Python {python} for the tests"] = RECIPE
    return found


def build_task(task: Task, builds: Builds, tell: Tell) -> None:
    """Build everything that a task needs and this machine lacks.

    Args:
        task: The task.
        builds: Executes the builds.
        tell: Called with the progress of the builds.

    Raises:
        AgentGymError: A build step failed, or a dependency is unavailable.
    """
    rules = task.sandbox_rules
    if rules is None:
        recipe = load_env_spec(task.manifest.env).sandbox
        if recipe is not None:
            _build(load_plan(recipe), recipe, builds, tell)
        return
    sources = Sources()
    for computer in _computers(task.sandbox_rules):
        computer_plan(computer, sources)
    fetch(sources.images, builds, tell)
    for computer in _computers(task.sandbox_rules):
        _build(computer_plan(computer, Sources()), task.manifest.title, builds, tell)
    _build(load_plan(RECIPE), RECIPE, builds, tell)
    graded = rules.verifier or rules.computer
    prepare_toolkit(test_requirements(rules), computer_plan(graded, Sources()), builds)


def _computers(rules: SandboxRules | None) -> list[Computer]:
    found = [] if rules is None else [rules.computer, rules.verifier]
    return [computer for computer in found if computer is not None]


def _build(plan: Plan | None, name: str, builds: Builds, tell: Tell) -> None:
    if plan is not None and find_image(plan.name) is None:
        tell(f"building {name}")
        builds.build(plan)
