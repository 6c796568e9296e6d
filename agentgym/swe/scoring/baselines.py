"""The bounds of every scorer: chance, and the execution of the hidden tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from agentgym.errors import ConfigError, VerifierError
from agentgym.plugins import no_argument
from agentgym.records import PatchAttempt, PatchProblem
from agentgym.swe.scoring.registry import GROUP


class RandomScorer:
    """Draws a score for each attempt.

    Args:
        argument: Seed of the draws, instead of 0.
    """

    name = "random"

    def __init__(self, argument: str = "") -> None:
        if argument and not argument.isdecimal():
            raise ConfigError(f"patch scorer 'random': expected a seed, got {argument!r}")
        self._seed = int(argument or 0)
        self.version = f"1+seed={self._seed}"

    async def score(
        self, problem: PatchProblem, attempts: Sequence[PatchAttempt]
    ) -> Sequence[float]:
        """Return numbers in 0..1 that depend on seed, task and place among the attempts alone."""
        return [self._draw(f"{self._seed} {problem.task} {at}") for at in range(len(attempts))]

    def _draw(self, key: str) -> float:
        digest = hashlib.sha256(key.encode()).digest()
        return int.from_bytes(digest[:6]) / 2**48


class OracleScorer:
    """Scores by what execution said: the best that any scorer can do."""

    name = "oracle"
    version = "1"
    privileged = True

    def __init__(self, argument: str = "") -> None:
        no_argument(GROUP, self.name, argument)

    async def score(
        self, problem: PatchProblem, attempts: Sequence[PatchAttempt]
    ) -> Sequence[float]:
        """Return 1 for a resolved issue, else 0.

        Raises:
            VerifierError: It is not told which attempts are resolved.
        """
        if any(attempt.resolved is None for attempt in attempts):
            raise VerifierError("it needs the outcome of the hidden tests")
        return [float(attempt.resolved is True) for attempt in attempts]
