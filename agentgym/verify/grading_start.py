"""The part of a grading that needs no evidence, done while the episode is still being sealed."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from agentgym.errors import ConfigError, VerifierError
from agentgym.task.model import Instance
from agentgym.verify.judge.judged_checks import judged_checks
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.rubric.tree import Rubric
from agentgym.verify.thread import in_thread, threaded
from agentgym.verify.version import verifier_version
from agentgym.verify.worker.runner import CheckRunner

# With more, most workers would wait for their episodes, and the gradings would need still more.
_ahead = threading.BoundedSemaphore(2 * (os.cpu_count() or 1))


@dataclass(frozen=True, slots=True)
class Verifier:
    """The verifier of an instance.

    Attributes:
        version: Its version, 12 hexadecimal digits.
        rubric: The rubric; None if the rubric or a check is broken.
        asks_judge: Whether a check asks a judge.
        fault: What is wrong with the rubric or a check; empty for a sound rubric.
    """

    version: str
    rubric: Rubric | None
    asks_judge: bool = False
    fault: str = ""


class GradingStart:
    """Reads the rubric in a thread that starts at once, and binds its checks in a worker.

    A few gradings of this process bind their checks ahead, the others when they are judged.

    Args:
        instance: The task with its parameters.

    Attributes:
        runner: Runs the checks; `close` stops it.
    """

    def __init__(self, instance: Instance) -> None:
        self.runner = CheckRunner(instance)
        self._instance = instance
        self._is_ahead = _ahead.acquire(blocking=False)
        self._begun = threaded(self._begin)

    async def verifier(self) -> Verifier:
        """Return the verifier as soon as the checks are bound; called once."""
        # It was begun when the episode ended, and sealing the sandbox took longer.
        done = self._begun.done()
        verifier = self._begun.result() if done else await asyncio.wrap_future(self._begun)
        if not self._is_ahead:
            verifier = await in_thread(lambda: self._bound(verifier))
        self._let_others_ahead()
        return verifier

    def close(self) -> None:
        """Stop the checks."""
        self.runner.stop()
        self._let_others_ahead()

    def _let_others_ahead(self) -> None:
        if self._is_ahead:
            self._is_ahead = False
            _ahead.release()

    def _begin(self) -> Verifier:
        verifier = self._read()
        return self._bound(verifier) if self._is_ahead else verifier

    def _read(self) -> Verifier:
        task = self._instance.task
        version = verifier_version(task)
        try:
            return Verifier(version, _rubric(version, task.folder / "checks"))
        except VerifierError as error:
            return Verifier(version, None, fault=str(error))

    def _bound(self, verifier: Verifier) -> Verifier:
        """Bind the checks, and return what is then known of the verifier."""
        if verifier.rubric is None:
            return verifier
        try:
            # Milestones were checked by a worker of their own.
            if any(verifier.rubric.checked_at_end()):
                self.runner.open()
            asks_judge = _asks_judge(verifier.version, self._instance.task.folder / "checks")
        except (VerifierError, ConfigError) as error:
            return replace(verifier, rubric=None, fault=str(error))
        return replace(verifier, asks_judge=asks_judge)


# The version changes with every byte that decides, so both are read once for each version.


@functools.lru_cache(maxsize=256)
def _rubric(version: str, folder: Path) -> Rubric:
    return load_rubric(folder / "rubric.toml")


@functools.lru_cache(maxsize=256)
def _asks_judge(version: str, folder: Path) -> bool:
    return bool(judged_checks(folder))
