"""Patch scorers by name: ``heuristic``, ``random:7``, ``llm:gpt-x``.

The part before the first colon is an entry point of the group ``agentgym.patch_scorers``. The
scorer itself interprets the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agentgym import plugins
from agentgym.errors import AgentGymError, VerifierError
from agentgym.protocols import PatchScorer
from agentgym.records import PatchAttempt, PatchProblem

GROUP: Final = "agentgym.patch_scorers"

USUAL: Final = ("oracle", "random", "heuristic")
"""The default scorers, which need no model."""


def create(spec: str) -> PatchScorer:
    """Create a patch scorer.

    Args:
        spec: ``"<name>"`` or ``"<name>:<argument>"``.

    Raises:
        NotFoundError: No patch scorer has that name.
        ConfigError: The scorer does not accept the argument.
        PluginError: The entry point cannot be loaded or does not create a patch scorer.
    """
    scorer: PatchScorer = plugins.make(
        GROUP, spec, like=PatchScorer, methods=("score",), texts=("name", "version")
    )
    return scorer


async def score_attempts(
    scorer: PatchScorer, problem: PatchProblem, attempts: Sequence[PatchAttempt]
) -> list[float]:
    """Ask a scorer; a scorer that is not privileged does not see what execution said.

    Raises:
        VerifierError: It failed, or did not return one finite number per attempt.
    """
    if getattr(scorer, "privileged", False) is not True:
        attempts = [replace(attempt, resolved=None) for attempt in attempts]
    try:
        scores = list(await scorer.score(problem, attempts))
    except AgentGymError as error:
        raise VerifierError(f"patch scorer {scorer.name!r}: {error}") from error
    except Exception as error:  # a plug-in may raise anything
        told = f"{type(error).__name__}: {error}"
        raise VerifierError(f"patch scorer {scorer.name!r}: {told}") from error
    if len(scores) != len(attempts):
        raise VerifierError(
            f"patch scorer {scorer.name!r}: {len(scores)} scores for {len(attempts)} attempts"
        )
    for score in scores:
        known = isinstance(score, int | float) and not isinstance(score, bool)
        if not known or not math.isfinite(score):
            raise VerifierError(
                f"patch scorer {scorer.name!r}: expected finite numbers, got {score!r:.80}"
            )
    return [float(score) for score in scores]
