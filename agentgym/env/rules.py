"""Calls the rules of a task of another format, and decides what a failure of theirs means.

Before the agent acts, a failure means that the task is broken. After that, the agent may have
caused it. The task is then judged once more, in a sandbox in which no agent has acted. If that
works, the episode has failed; otherwise the verifier is broken, and the episode is unscored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from agentgym.env.rules_verdict import sound_verdict
from agentgym.errors import (
    AgentGymError,
    GuestFileError,
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    UnsupportedError,
    VerifierError,
)
from agentgym.protocols import (
    EpisodeContext,
    EpisodeRules,
    Sandbox,
    Services,
    TaskRules,
    UserWorld,
)
from agentgym.records import CheckpointResult, CheckStatus, Phase, Step, Verdict
from agentgym.task_formats import plugin_errors
from agentgym.verify.checking import tidy
from agentgym.verify.grade import RULES

Pristine: TypeAlias = Callable[[], AbstractAsyncContextManager[EpisodeContext]]
"""Opens the context of an episode in which no agent has acted."""


class GuardedRules:
    """The `EpisodeRules` of one episode; only errors that the agent did not cause leave it.

    Args:
        task: Rules of the task.
        rules: Rules of the episode.
        name: Name of the format, for messages.
        pristine: Makes a context for judging without an agent.
    """

    def __init__(self, task: TaskRules, rules: EpisodeRules, name: str, pristine: Pristine) -> None:
        self._task, self._rules, self._name, self._pristine = task, rules, name, pristine
        self._failure = ""

    @property
    def services(self) -> Services | None:
        """Services for the surfaces; None for those of the environment."""
        return self._rules.services

    @property
    def customer(self) -> UserWorld | None:
        """The user's access to services; None for access to those of the environment."""
        return self._rules.customer

    async def begin(self, sandbox: Sandbox) -> str:
        """Prepare the episode and return text for the agent.

        Raises:
            AgentGymError: The episode cannot begin.
        """
        with plugin_errors(f"task format {self._name!r}: the episode cannot begin"):
            told: object = await self._rules.begin(sandbox)
            if not isinstance(told, str):
                raise TypeError(f"begin: expected text, got {type(told).__name__}")
            return told

    async def submit(self, sandbox: Sandbox, answer: str) -> str | None:
        """Return the next instruction; None if the submit ends the episode.

        Raises:
            AgentGymError: The sandbox broke.
        """
        try:
            following: object = await self._rules.submit(sandbox, answer)
            if following is None or isinstance(following, str):
                return following
            raise TypeError(f"submit: expected text or None, got {type(following).__name__}")
        except AgentGymError:
            raise
        except Exception as error:  # noqa: BLE001 - `finish` classifies it
            self._failure = self._failure or _told(error)
            return None

    def note(self, step: Step) -> None:
        """Take note of a finished step."""
        try:
            self._rules.note(step)
        except Exception as error:  # noqa: BLE001 - `finish` classifies it
            self._failure = self._failure or _told(error)

    def fork(self, context: EpisodeContext) -> GuardedRules:
        """Return the rules of another episode in the same state.

        Raises:
            UnsupportedError: These rules cannot be forked.
        """
        try:
            forked = self._rules.fork(context)
        except AgentGymError:
            raise
        except Exception as error:  # the rules of a plug-in may raise anything
            raise UnsupportedError(
                f"the rules of {self._name} cannot be forked: {_told(error)}"
            ) from error
        child = GuardedRules(self._task, forked, self._name, self._pristine)
        child._failure = self._failure
        return child

    async def finish(self, sandbox: Sandbox, *, gave_up: bool) -> Verdict:
        """Judge the state that the agent left.

        Raises:
            AgentGymError: A boundary broke, and the agent did not cause it.
        """
        try:
            if self._failure:
                raise VerifierError(self._failure)
            return sound_verdict(await self._rules.finish(sandbox, gave_up=gave_up))
        except (SandboxEndedError, GuestFileError) as error:
            return _verdict("scored", CheckStatus.FAIL, str(error))
        except SandboxDiedError:
            raise
        except AgentGymError as error:
            if not isinstance(error, VerifierError | SandboxError):
                raise
            told = str(error)
        except Exception as error:  # noqa: BLE001 - judging once more classifies it
            told = _told(error)
        if await self._works_untouched():
            why = f"the tests broke on what the agent left: {told}"
            return _verdict("scored", CheckStatus.FAIL, why)
        return _verdict("error:verifier", CheckStatus.ERROR, told)

    async def _works_untouched(self) -> bool:
        """Return whether the task can be judged in a sandbox in which no agent has acted."""
        try:
            async with self._pristine() as context:
                return await self._judge_untouched(context)
        except Exception:  # noqa: BLE001 - whatever it is, the task cannot be judged
            return False

    async def _judge_untouched(self, context: EpisodeContext) -> bool:
        sandbox = await context.untouched()
        try:
            rules = self._task.open_episode(context)
            try:
                await rules.begin(sandbox)
                # Some formats judge nothing of an episode that neither side has ended.
                return sound_verdict(await rules.finish(sandbox, gave_up=True)).scored
            finally:
                _close(rules)
        finally:
            await sandbox.close()

    def close(self) -> None:
        """Release all resources. Never raises."""
        _close(self._rules)


def open_rules(
    task: TaskRules, context: EpisodeContext, name: str, pristine: Pristine
) -> GuardedRules:
    """Return the guarded rules of an episode that is about to begin.

    Raises:
        AgentGymError: The rules cannot be opened.
    """
    with plugin_errors(f"task format {name!r}: the episode cannot begin"):
        rules = task.open_episode(context)
    return GuardedRules(task, rules, name, pristine)


def _verdict(status: str, check: CheckStatus, why: str) -> Verdict:
    found = CheckpointResult(RULES, Phase.OUTCOME, check, 0.0, 1.0, tidy(why))
    return Verdict(status, outcome=False, score=0.0, checkpoints=(found,))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _close(rules: EpisodeRules) -> None:
    with contextlib.suppress(Exception):
        rules.close()
