"""An imported instance, as the engine sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentgym import catalogue
from agentgym.protocols import EpisodeContext, EpisodeRules, ForeignTask, ImageBuilder
from agentgym.records import Action, TaskSandbox
from agentgym.regular_file import read_regular
from agentgym.swe.diff import write_diff
from agentgym.swe.grading import longest_s
from agentgym.swe.specs.image import REPOSITORY
from agentgym.swe.task_folder import InstanceTask, read_task

_GOLD: Final = "/tmp/solution.patch"
"""Runs of the tests in one grading: with the patch, and without it if that leaves no evidence."""
_SPARE_S: Final = 300.0
_INSTRUCTION: Final = """\
The repository {repo} is in {root}. Solve the issue below by changing its files. Hidden tests \
decide; changes of tests and of the settings of the test runner do not count. Call `submit` when \
you are done.

{issue}"""


@dataclass(frozen=True, slots=True)
class SweBenchRules:
    """The `TaskRules` of such a task.

    Attributes:
        task: The folder and the instance.
    """

    task: InstanceTask

    def open_episode(self, context: EpisodeContext) -> EpisodeRules:
        """Return the rules of an episode that is about to begin."""
        from agentgym.formats.swebench.episode import SweBenchEpisode

        return SweBenchEpisode(self.task, context)

    def reference_actions(self) -> Sequence[Action]:
        """Return the actions that apply the gold patch."""
        patch = write_diff(self.task.tests().gold)
        command = f"cd {REPOSITORY} && git apply --whitespace=nowarn {_GOLD} && rm {_GOLD}"
        return (
            Action("write_file", {"path": _GOLD, "content": patch}),
            Action("bash", {"command": command}),
            Action("submit"),
        )

    def verifier_parts(self) -> Iterator[tuple[str, bytes]]:
        """Yield the tests of the instance and the environment they run in."""
        instance = self.task.instance
        parts = {
            "tests": [*instance.fail_to_pass, "", *instance.pass_to_pass],
            "test_patch": instance.test_patch,
            "environment": repr(instance.environment),
        }
        yield "instance", json.dumps(parts).encode()
        yield "Dockerfile", read_regular(self.task.context / "Dockerfile")

    def prepare(self, builder: ImageBuilder, tell: Callable[[str], None]) -> None:
        """Do nothing: the image of the sandbox has everything."""

    def replacements(self) -> Mapping[str, str]:
        """Return what stands in for a version that this machine lacks."""
        return dict(self.task.pointer.replaced)


def swebench_task(folder: Path) -> ForeignTask:
    """Return the task of a folder.

    Raises:
        TaskError: A file is absent or broken.
    """
    task = read_task(folder)
    instance, spec = task.instance, task.instance.environment
    assert spec is not None, "read_task refuses such a folder"
    issue = instance.problem_statement.strip()
    return ForeignTask(
        format="swebench",
        title=instance.id,
        instruction=_INSTRUCTION.format(repo=instance.repo, root=REPOSITORY, issue=issue),
        rules=SweBenchRules(task),
        id=task.pointer.id,
        env="swe" if "swe" in catalogue.folders("envs") else "terminal",
        tags=("swe", spec.language),
        judging_s=longest_s(spec.timeout_s) + _SPARE_S,
        sandbox=TaskSandbox(context=task.context, network="none", workdir=REPOSITORY),
    )
