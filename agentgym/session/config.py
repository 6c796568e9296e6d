"""The terms of a server's sessions: what may be played, its limits, and where it is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentgym.env.environment import Environment
from agentgym.record.store import RunStore

_PENDING: Final = 100


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """The terms of every session of a server.

    Attributes:
        environments: The environments by the name of their task, as the run records it. Callers
            name one of them, and need not if there is only one.
        store: The run that records the episodes.
        seed: Seed of every episode; None lets callers choose.
        may_fork: Whether callers may fork episodes.
        tell: Whether callers learn the scores of their episodes.
        tell_verdicts: Whether they learn whole verdicts and the parameters of tasks as well. The
            messages of checks may tell an agent what they look for.
        timeout_s: Longest wall time of an episode in seconds, None for the task's own.
        idle_s: Seconds without a call after which an episode is judged as it stands, and a session
            ends.
        session_s: Longest wall time of a session in seconds, None without a limit.
        call_s: Seconds that a caller waits for one reply, None without a limit.
        max_episodes: Largest number of live episodes of one session.
        max_live: Largest number of live episodes of all sessions; each has a sandbox of its own.
        max_sessions: Largest number of sessions that are not over.
        max_waiting: Largest number of pending calls of one session; None for two of each live
            episode, and at least 100.
        record_after_s: Seconds within which the steps of an episode are recorded together. 0: a
            step is on file before it is answered.
    """

    environments: Mapping[str, Environment]
    store: RunStore
    seed: int | None = None
    may_fork: bool = True
    tell: bool = True
    tell_verdicts: bool = False
    timeout_s: float | None = None
    idle_s: float = 600.0
    session_s: float | None = None
    call_s: float | None = None
    max_episodes: int = 64
    max_live: int = 64
    max_sessions: int = 1_000
    max_waiting: int | None = None
    record_after_s: float = 0.0

    @property
    def max_pending(self) -> int:
        """Largest number of pending calls of one session."""
        if self.max_waiting is not None:
            return self.max_waiting
        return max(_PENDING, 2 * self.max_episodes)
