"""A baseline without a model: features of a patch that a reviewer sees at a glance.

Its weights are set by hand and fitted to nothing. The main one is agreement: attempts that change
the same functions as most others are more often right (self-consistency, Wang et al. 2023).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from agentgym.plugins import no_argument
from agentgym.python_source import LargeSourceError, parse_python
from agentgym.records import PatchAttempt, PatchProblem
from agentgym.swe.diagnosis.functions import changed_functions
from agentgym.swe.scoring.registry import GROUP
from agentgym.swe.test_paths import is_code, is_test_path

_AGREEMENT: Final = 0.45
_MENTIONED: Final = 0.25
_SIZE: Final = 0.2
_TESTED: Final = 0.1
_USUAL_LINES: Final = 200.0
"""Changed lines from which a patch counts as large."""


class HeuristicScorer:
    """See the module. A patch that changes no source file, or breaks its syntax, gets 0."""

    name = "heuristic"
    version = "1"

    def __init__(self, argument: str = "") -> None:
        no_argument(GROUP, self.name, argument)

    async def score(
        self, problem: PatchProblem, attempts: Sequence[PatchAttempt]
    ) -> Sequence[float]:
        """Return scores in 0..1."""
        places = [_places(problem, attempt) for attempt in attempts]
        words = set(re.findall(r"[a-z_][a-z0-9_]{2,}", problem.issue.lower()))
        return [
            _score(attempt, words, own, [other for k, other in enumerate(places) if k != at])
            for at, (attempt, own) in enumerate(zip(attempts, places, strict=True))
        ]


def _score(
    attempt: PatchAttempt, words: set[str], own: frozenset[str], others: Sequence[frozenset[str]]
) -> float:
    if not own or not all(_is_sound(path, text) for path, text in attempt.after.items()):
        return 0.0
    agreement = math.fsum(_overlap(own, other) for other in others) / len(others) if others else 0.5
    mentioned = sum(bool(_names(place) & words) for place in own) / len(own)
    lines = sum(line[:1] in "+-" for line in attempt.diff.split("\n") if line)
    small = 1 / (1 + lines / _USUAL_LINES)
    tested = float(any(is_test_path(path) for path in attempt.after))
    return _AGREEMENT * agreement + _MENTIONED * mentioned + _SIZE * small + _TESTED * tested


def _places(problem: PatchProblem, attempt: PatchAttempt) -> frozenset[str]:
    """Return the source files that an attempt changes, and their functions where it has some."""
    found: set[str] = set()
    for path, text in attempt.after.items():
        if is_code(path):
            names = changed_functions(path, problem.before.get(path, ""), text or "")
            found |= {f"{path}::{name}" for name in names} or {path}
    return frozenset(found)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    union = one | other
    return len(one & other) / len(union) if union else 0.0


def _names(place: str) -> set[str]:
    """Return the words by which an issue may mention a place."""
    return {word for word in re.split(r"[/.:]+", place.lower()) if word not in ("py", "", "src")}


def _is_sound(path: str, text: str | None) -> bool:
    if text is None or not path.endswith(".py"):
        return True
    try:
        parse_python(text)
    except LargeSourceError:
        return True  # nothing is known of it
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
