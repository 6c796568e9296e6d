"""A task of OSWorld, as the engine sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentgym.errors import TaskError
from agentgym.formats.osworld import needs
from agentgym.formats.osworld.checkout import open_checkout
from agentgym.formats.osworld.environment import offered
from agentgym.formats.osworld.files import LocalFiles
from agentgym.formats.osworld.model import OSWorldTask
from agentgym.formats.osworld.suite import read_pointer
from agentgym.protocols import EpisodeContext, EpisodeRules, ForeignTask, ImageBuilder
from agentgym.records import Action
from agentgym.regular_file import digest_regular

_MAX_STEPS: Final = 100
_JUDGING_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class OSWorldRules:
    """The `TaskRules` of such a task.

    Attributes:
        task: The task.
        files: Local copies of online files.
        has_screen: Whether the environment has a screen.
    """

    task: OSWorldTask
    files: LocalFiles
    has_screen: bool

    def open_episode(self, context: EpisodeContext) -> EpisodeRules:
        """Return the rules of an episode that is about to begin."""
        from agentgym.formats.osworld.episode import OSWorldEpisode

        return OSWorldEpisode(self.task, self.files, self.has_screen, context)

    def reference_actions(self) -> Sequence[Action]:
        """Return the solution: OSWorld has none, but that of a task that cannot be done."""
        if self.task.is_infeasible:
            return (Action("give_up", {"reason": "the task cannot be done on this computer"}),)
        return ()

    def verifier_parts(self) -> Iterator[tuple[str, bytes]]:
        """Yield the evaluator of the task, and the digests of the files that it compares with."""
        yield "evaluator", json.dumps(self.task.raw["evaluator"], sort_keys=True).encode()
        for url in sorted(needs.urls(self.task)):
            path = self.files.find(url, self.task.id)
            yield url, b"" if path is None else digest_regular(path).encode()

    def prepare(self, builder: ImageBuilder, tell: Callable[[str], None]) -> None:
        """Do nothing: the environment has everything."""

    def replacements(self) -> Mapping[str, str]:
        """Return the applications that stand for others."""
        return needs.substitutes(self.task)


def osworld_task(folder: Path) -> ForeignTask:
    """Return the task that a folder points to.

    Raises:
        TaskError: The folder, the checkout or the task is broken, or something is missing.
    """
    pointer = read_pointer(folder)
    task = open_checkout(pointer.checkout).read(pointer.domain, pointer.task)
    files = LocalFiles(Path(pointer.files) if pointer.files else None)
    environment = offered(pointer.env)
    if lacks := needs.missing(task, files, environment):
        raise TaskError(
            f"OSWorld task {task.id!r} cannot run in the environment {pointer.env!r}; missing: "
            + ", ".join(map(str, lacks))
        )
    return ForeignTask(
        format="osworld",
        title=f"{task.domain}: {_line(task.instruction)}",
        instruction=task.instruction,
        rules=OSWorldRules(task, files, environment.has_screen),
        id=pointer.id,
        env=pointer.env,
        tags=("osworld", task.domain),
        max_steps=_MAX_STEPS,
        judging_s=_JUDGING_S,
    )


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:69]}…"
