"""The journal of a sandbox's attempts to reach hosts, kept where the guest cannot reach."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.records import Connection

MAX_ATTEMPTS = 10_000
_MAX_HOST = 300


@dataclass(slots=True)
class Attempt:
    """A current attempt; its fields are those of `Connection`."""

    host: str
    port: int
    via: str
    outcome: str = "failed: not connected yet"
    sent_bytes: int = 0
    received_bytes: int = 0


class Journal:
    """All attempts in the order of their beginning; after `MAX_ATTEMPTS` it only counts them."""

    def __init__(self) -> None:
        self._attempts: list[Attempt] = []
        self._left_out = 0

    def begin(self, host: str, port: int, via: str) -> Attempt:
        """Record a new attempt; the caller fills in the rest."""
        attempt = Attempt(host.strip("[]")[:_MAX_HOST], port, via)
        if len(self._attempts) < MAX_ATTEMPTS:
            self._attempts.append(attempt)
        else:
            self._left_out += 1
        return attempt

    def connections(self) -> tuple[Connection, ...]:
        """Return the current records.

        One last record without a host stands for all attempts that were only counted, so that a
        check for forbidden hosts notices them.
        """
        found = [
            Connection(a.host, a.port, a.via, a.outcome, a.sent_bytes, a.received_bytes)
            for a in self._attempts
        ]
        if self._left_out:
            found.append(Connection("", 0, "", f"failed: {self._left_out} more are not listed"))
        return tuple(found)
