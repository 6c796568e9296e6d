"""The protocol of episode recorders."""

from __future__ import annotations

from typing import Protocol

from agentgym.records import Audit, Step, Verdict


class EpisodeRecorder(Protocol):
    """Records one episode; accepted data survives the death of the process."""

    def step(self, step: Step) -> None:
        """Record a finished step."""
        ...

    def finish(
        self, verdict: Verdict, *, duration_s: float, error: str = "", audit: Audit | None = None
    ) -> None:
        """Record the verdict and close the episode."""
        ...
