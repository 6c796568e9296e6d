"""An episode of an OSWorld task: steps before it, post-actions, getters and metrics after it."""

from __future__ import annotations

from typing import NoReturn

from agentgym.errors import TaskError, UnsupportedError, VerifierError
from agentgym.formats.osworld.files import LocalFiles
from agentgym.formats.osworld.grading import measured, verdict_of
from agentgym.formats.osworld.guest import Guest
from agentgym.formats.osworld.model import OSWorldTask
from agentgym.formats.osworld.steps import Stage, take
from agentgym.protocols import EpisodeContext, Sandbox, Services, UserWorld
from agentgym.records import Step, Verdict


class OSWorldEpisode:
    """The rules of one episode.

    Args:
        task: The task.
        files: Local copies of online files.
        has_screen: Whether the environment has a screen.
        context: The parts of the engine.
    """

    services: Services | None = None
    customer: UserWorld | None = None

    def __init__(
        self, task: OSWorldTask, files: LocalFiles, has_screen: bool, context: EpisodeContext
    ) -> None:
        self._task, self._files, self._has_screen = task, files, has_screen
        self._user = "" if context.recipe.user in ("", "root") else context.recipe.user
        self._kept: dict[str, bytes] = {}

    async def begin(self, sandbox: Sandbox) -> str:
        """Take the steps before the episode.

        Raises:
            TaskError: A step is broken, or its file is not at hand.
            SandboxError: The computer broke.
        """
        stage = self._stage(sandbox)
        await stage.guest.install()
        for step in self._task.config:
            await take(stage, step)
        self._kept = stage.kept
        return ""

    def _stage(self, sandbox: Sandbox) -> Stage:
        guest = Guest(sandbox, self._user, self._has_screen)
        return Stage(self._task.id, guest, self._files, self._kept)

    async def submit(self, sandbox: Sandbox, answer: str) -> str | None:
        """Return None: a submit ends the episode."""
        return None

    def note(self, step: Step) -> None:
        """Do nothing: the score depends on the final state alone."""

    def fork(self, context: EpisodeContext) -> NoReturn:
        """Refuse a fork: windows that the task opened cannot be copied.

        Raises:
            UnsupportedError: Always.
        """
        raise UnsupportedError(
            "an OSWorld episode cannot be forked: a fork restores files but not the windows that "
            "the task opened; play the task again instead"
        )

    async def finish(self, sandbox: Sandbox, *, gave_up: bool) -> Verdict:
        """Take the post-actions, read the getters and run the metrics.

        Raises:
            VerifierError: A step or a getter is broken, by itself or by what the agent left: the
                engine judges once more without an agent to tell.
            SandboxError: The computer broke.
        """
        if gave_up or self._task.is_infeasible:
            return verdict_of(self._task, (), gave_up=gave_up)
        stage = self._stage(sandbox)
        await stage.guest.install()
        try:
            for step in self._task.postconfig:
                await take(stage, step)
            scores = await measured(stage, self._task)
        except TaskError as error:
            raise VerifierError(str(error)) from error
        return verdict_of(self._task, scores, gave_up=False)

    def close(self) -> None:
        """Do nothing: nothing outlives a grading."""
