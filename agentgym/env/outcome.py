"""The end of an episode: a verdict, or an error that names the boundary which failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentgym.errors import AgentGymError, RecordError, SurfaceLostError
from agentgym.records import CheckStatus, Verdict

ABANDONED: Final = "error:abandoned"
"""Status of an episode that its player left before its end: it has no score."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of an episode: judged (perhaps after its policy failed), or with an error.

    Attributes:
        verdict: The verdict.
        error: Reason why it has no score, or how its policy failed; else empty.
        truncated: Whether a limit on its steps or its wall time ended it.
        lost: Whether it can be played once more: a process that other episodes share ended it, or
            it broke, and its actions do not break another one.
    """

    verdict: Verdict
    error: str = ""
    truncated: bool = False
    lost: bool = False

    @property
    def reason(self) -> str:
        """The error; if empty, the message of an unscored verdict's first broken checkpoint."""
        if self.error or self.verdict.scored:
            return self.error
        broken = (c for c in self.verdict.checkpoints if c.status is CheckStatus.ERROR)
        return next((f"checkpoint {c.id!r}: {c.message}" for c in broken), "")


def failed(error: Exception) -> Ending:
    """Turn a failure into the ending that names its boundary.

    Raises:
        RecordError: Always, for a RecordError: there is nowhere to write the ending.
    """
    if isinstance(error, RecordError):
        raise error
    if isinstance(error, AgentGymError):
        lost = isinstance(error, SurfaceLostError)
        return Ending(_unscored(f"error:{error.boundary}"), str(error), lost=lost)
    told = f"{type(error).__name__}: {error}"
    return Ending(_unscored(f"error:{AgentGymError.boundary}"), told)


def abandoned(why: str) -> Ending:
    """Return the ending of an episode that its player left before its end."""
    return Ending(_unscored(ABANDONED), why)


def why_unscored(verdict: Verdict) -> str:
    """Return why an unscored verdict has no score."""
    broken = [c for c in verdict.checkpoints if c.status is CheckStatus.ERROR]
    why = "; ".join(f"checkpoint {c.id!r}: {c.message}" for c in broken)
    return f"the episode cannot be scored: {why or verdict.status}"


def _unscored(status: str) -> Verdict:
    return Verdict(status, outcome=False, score=0.0)
