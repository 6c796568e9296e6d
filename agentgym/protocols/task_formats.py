"""Protocols of task formats: how folders of other projects become tasks, are played and judged.

The entry points `agentgym.task_formats` offer formats. The engine knows these protocols only;
agentgym's own format is not one of them.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agentgym.protocols.sandboxes import Sandbox, SandboxProvider
from agentgym.protocols.surfaces import Services
from agentgym.protocols.users import UserWorld
from agentgym.protocols.verification import Judge
from agentgym.records import Action, Json, Recipe, Step, TaskSandbox, ToolSpec, Verdict


@dataclass(frozen=True, slots=True)
class EpisodeContext:
    """The parts of the engine that the rules of one episode may use.

    Attributes:
        provider: Starts sandboxes; its owner closes it.
        recipe: Recipe of the episode's sandbox.
        untouched: Starts a sandbox like the episode's, in which no agent has acted. The caller
            closes it.
        recipe_of: Returns the recipe of one of the task's other sandboxes, for `provider.start`:
            it lives as long as the episode's, and has no network if none is allowed. Reads files.
        seed: Seed of the episode.
        offline: Whether no sandbox may have a network, whatever the task allows.
        judge: Judge that the caller chose; None for the judge that AGENTGYM_JUDGE names.
        services: Services of the environment, without injected faults; None if it has none.
        tests_s: Upper limit for one run of the task's tests, in seconds; it only shortens the time
            that the task allows.
    """

    provider: SandboxProvider
    recipe: Recipe
    untouched: Callable[[], Awaitable[Sandbox]]
    recipe_of: Callable[[TaskSandbox], Recipe]
    seed: int
    offline: bool = False
    judge: Judge | None = None
    services: Services | None = None
    tests_s: float = math.inf


class EpisodeRules(Protocol):
    """The rules of one running episode: what happens at its start, at a submit and at its end.

    Attributes:
        services: Services for the surfaces of the episode; None for those of the environment. Set
            once `begin` has returned.
        customer: The simulated user's access to services; None for access to those of the
            environment. Set once `begin` has returned.
    """

    services: Services | None
    customer: UserWorld | None

    async def begin(self, sandbox: Sandbox) -> str:
        """Prepare the episode before the surfaces are attached.

        Returns:
            Text for the agent besides the instruction; empty for none.

        Raises:
            SandboxError: The sandbox cannot be prepared.
            TaskError: The task is broken.
        """
        ...

    async def submit(self, sandbox: Sandbox, answer: str) -> str | None:
        """Return the next instruction; None if the submit ends the episode."""
        ...

    def note(self, step: Step) -> None:
        """Take note of a finished step."""
        ...

    def fork(self, context: EpisodeContext) -> EpisodeRules:
        """Return the rules of another episode in the same state; both go on.

        Args:
            context: The context of the other episode.

        Raises:
            UnsupportedError: These rules cannot be forked; the message says why.
        """
        ...

    async def finish(self, sandbox: Sandbox, *, gave_up: bool) -> Verdict:
        """Judge the state that the agent left, in the sandbox where its processes still run.

        A failure that the agent can cause is a score of 0. A verdict with the status
        ``error:verifier`` is for tests that cannot be run for another reason. The engine adds the
        version of the verifier to a scored verdict.

        Raises:
            SandboxError: The sandbox broke.
            TaskError: The task is broken.
        """
        ...

    def close(self) -> None:
        """Release all resources. Never raises."""
        ...


class ImageBuilder(Protocol):
    """Builds images, one after the other. `agentgym.sandbox.build.builder.Builds` is one."""

    def build(self, plan: Any, *, use_cache: bool = True) -> Any:
        """Return the image of a `Plan` of `agentgym.sandbox.build.plan`; build what is missing.

        Raises:
            SandboxError: A step failed.
        """
        ...


class TaskRules(Protocol):
    """The rules of one task: its solution, its needs, its episodes and its verifier."""

    def open_episode(self, context: EpisodeContext) -> EpisodeRules:
        """Return the rules of an episode that is about to begin."""
        ...

    def reference_actions(self) -> Sequence[Action] | Path:
        """Return the actions of the task's solution, each `submit` included; empty without one.

        A solution that has to look before it acts is the path of a policy file
        (`agentgym.task.reference_policy`).

        Raises:
            TaskError: The solution cannot be read.
        """
        ...

    def verifier_parts(self) -> Iterable[tuple[str, bytes]]:
        """Yield everything that decides about a verdict, except agentgym: a name and its content.

        The version of the verifier is a digest of these parts.
        """
        ...

    def prepare(self, builder: ImageBuilder, tell: Callable[[str], None]) -> None:
        """Build what the episodes need besides the sandboxes of the task, which are built already.

        Args:
            builder: Builds images.
            tell: Called with the progress.

        Raises:
            AgentGymError: Something needed is not available.
        """
        ...

    def replacements(self) -> Mapping[str, str]:
        """Return what replaces something that the task asks for, by its name; usually empty.

        Replaced images are not among them; the engine reports those itself.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignTask:
    """A task as a format has read it.

    Attributes:
        format: Name of the format.
        title: One line for lists.
        instruction: Instruction for the agent, without slots.
        rules: Solution, episodes and verifier of the task.
        id: Id in a catalogue, ``suite/name-vN``; empty for a task that is named by its path.
        env: Catalogue name of the environment, which gives the surfaces.
        tags: Words to find it by.
        difficulty: ``"easy"``, ``"medium"`` or ``"hard"``.
        max_steps: Largest number of steps.
        agent_s: Longest time for the agent, in seconds; None for the limit of the sandbox.
        judging_s: Seconds by which the sandbox outlives the agent's time, for the tests.
        sandbox: The sandbox of the episodes; None for that of the environment.
        other_sandboxes: Further sandboxes whose images are built, such as that of a verifier.
        tools: Service tools that the task brings.
        user: The simulated user, with the fields of `user.toml` (docs/users.md); None without one.
        tests_s: Upper limit for one run of the tests, in seconds; see `EpisodeContext`.
    """

    format: str
    title: str
    instruction: str
    rules: TaskRules
    id: str = ""
    env: str = "terminal"
    tags: tuple[str, ...] = ()
    difficulty: str = "medium"
    max_steps: int = 200
    agent_s: float | None = None
    judging_s: float = 0.0
    sandbox: TaskSandbox | None = None
    other_sandboxes: tuple[TaskSandbox, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    user: Mapping[str, Json] | None = None
    tests_s: float = math.inf

    @property
    def sandboxes(self) -> tuple[TaskSandbox, ...]:
        """All sandboxes that the task brings."""
        return (() if self.sandbox is None else (self.sandbox,)) + self.other_sandboxes


class TaskFormat(Protocol):
    """A format of task folders. The entry points `agentgym.task_formats` offer classes of them.

    The engine makes one object of such a class, without arguments, and asks it about any folder.

    Attributes:
        name: Name of the entry point.
    """

    name: str

    def detect(self, folder: Path) -> bool:
        """Return whether a folder holds a task in this format, however broken. Writes nothing.

        It is fast, because each folder is shown to every format. It must not claim the folders of
        other formats: two claims are an error.
        """
        ...

    def load(self, folder: Path) -> ForeignTask:
        """Read a task folder that `detect` has recognised. Writes nothing.

        Raises:
            TaskError: The task cannot be read, or needs something unsupported; names all of it.
            MissingExtraError: An optional package is needed and not installed.
        """
        ...

    def import_command(self) -> Callable[..., None] | None:
        """Return the command of ``agentgym suite import <name>``, a function for typer.

        None if folders of this format are not imported but named by their paths.
        """
        ...
