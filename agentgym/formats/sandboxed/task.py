"""A task that brings a sandbox and test scripts, as the engine sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentgym import catalogue
from agentgym.errors import TaskError
from agentgym.formats.sandboxed.requirements import requirements_of
from agentgym.formats.sandboxed.rules import TOOLKIT_RECIPE, SandboxRules
from agentgym.formats.sandboxed.solution import reference_actions
from agentgym.formats.sandboxed.task_file import read_task_file
from agentgym.manifest import show_path
from agentgym.protocols import EpisodeContext, EpisodeRules, ForeignTask, ImageBuilder
from agentgym.records import Action
from agentgym.regular_file import DATA_BYTES
from agentgym.task.prepared_packages import prepared_for


@dataclass(frozen=True, slots=True)
class SandboxTaskRules:
    """The `TaskRules` of such a task.

    Attributes:
        rules: What the format's reader has found in the folder.
        sound: Numbers of the stages whose tests are known to work without an agent.
    """

    rules: SandboxRules
    sound: set[int] = field(default_factory=set, compare=False, repr=False)

    def open_episode(self, context: EpisodeContext) -> EpisodeRules:
        """Return the rules of an episode that is about to begin."""
        from agentgym.formats.sandboxed.episode import SandboxEpisode

        return SandboxEpisode(self.rules, context, self.sound)

    def reference_actions(self) -> Sequence[Action]:
        """Return the actions of the solution, with each `submit`; empty without a solution."""
        return reference_actions(self.rules)

    def verifier_parts(self) -> Iterator[tuple[str, bytes]]:
        """Yield the files of the tests, and those of the programs that run them."""
        stages = self.rules.stages
        tops = [folder for stage in stages for folder in stage.tests]
        tops += [stage.script_file for stage in stages if stage.script_file is not None]
        tops.append(catalogue.find("sandboxes", TOOLKIT_RECIPE))
        for path in (path for top in tops for path in (top, *sorted(top.rglob("*")))):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.name, read_task_file(path, DATA_BYTES)

    def prepare(self, builder: ImageBuilder, tell: Callable[[str], None]) -> None:
        """Build the toolkit of the test scripts.

        Raises:
            SandboxError: A package that the scripts install is not available.
        """
        from agentgym.formats.sandboxed.toolkit import build_toolkit

        build_toolkit(self.rules, builder, tell)

    def replacements(self) -> Mapping[str, str]:
        """Return the recipe whose Python runs tests that ask for a version of Python."""
        python = requirements_of(self.rules).python
        return {f"Python {python} for the tests": TOOLKIT_RECIPE} if python else {}


def sandbox_task(folder: Path, rules: SandboxRules, *, difficulty: Any, tags: Any) -> ForeignTask:
    """Return the task of a folder.

    Args:
        folder: Folder of the task.
        rules: What the format's reader has found in it.
        difficulty: The author's word for the difficulty, if any.
        tags: The author's tags, if any.

    Raises:
        TaskError: A time is no usable one, or the table of prepared packages cannot be read.
    """
    if flaw := rules.flaw_of_times():
        raise TaskError(f"{show_path(folder)}: {flaw}")
    sandbox = replace(rules.sandbox, prepared=prepared_for(folder))
    rules = replace(rules, sandbox=sandbox)
    return ForeignTask(
        format=rules.format,
        title=folder.name,
        instruction=rules.stages[0].instruction,
        rules=SandboxTaskRules(rules),
        tags=tuple(str(tag) for tag in (tags if isinstance(tags, list | tuple) else ())),
        difficulty=str(difficulty),
        agent_s=rules.agent_s,
        judging_s=rules.judging_s,
        sandbox=sandbox,
        other_sandboxes=() if rules.verifier is None else (rules.verifier,),
    )
