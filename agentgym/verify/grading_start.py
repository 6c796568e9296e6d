"""The part of a grading that needs no evidence, done while the episode is still being sealed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from agentgym.errors import ConfigError, VerifierError
from agentgym.task.model import Instance
from agentgym.verify.judge.judged_checks import judged_checks
from agentgym.verify.rubric import Rubric, load_rubric
from agentgym.verify.thread import threaded
from agentgym.verify.version import verifier_version
from agentgym.verify.worker.runner import CheckRunner


@dataclass(frozen=True, slots=True)
class Verifier:
    """The verifier of an instance.

    Attributes:
        version: Its version, 12 hexadecimal digits.
        rubric: The rubric; None if the rubric or a check is broken.
        asks_judge: Whether a check asks a judge.
        fault: The fault of the rubric or of a check; empty if there is none.
    """

    version: str
    rubric: Rubric | None
    asks_judge: bool = False
    fault: str = ""


class GradingStart:
    """Reads the rubric and binds its checks in a worker, in a thread that starts at once.

    Args:
        instance: The task with its parameters.

    Attributes:
        runner: Runs the checks. The owner of this object stops it.
    """

    def __init__(self, instance: Instance) -> None:
        self.runner = CheckRunner(instance)
        self._instance = instance
        self._verifier = threaded(self._read)

    async def verifier(self) -> Verifier:
        """Return the verifier as soon as the checks are bound."""
        return await asyncio.wrap_future(self._verifier)

    def _read(self) -> Verifier:
        task = self._instance.task
        version = verifier_version(task)
        try:
            rubric = load_rubric(task.folder / "checks" / "rubric.toml")
            if any(rubric.checked_at_end()):
                # Milestones alone need no worker any more.
                self.runner.open()
            return Verifier(version, rubric, bool(judged_checks(task.folder / "checks")))
        except (VerifierError, ConfigError) as error:
            return Verifier(version, None, fault=str(error))
