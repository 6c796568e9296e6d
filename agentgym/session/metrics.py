"""Counts what a server does, in the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from agentgym import __version__
from agentgym.session.answers import Reply

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_BUCKETS_S: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


class Metrics:
    """The counts of one server.

    Attributes:
        connections: Open WebSocket connections.
        resumed: Sessions to which a client came back.
        refused: Connections and requests without a valid token.
        received_bytes: Bytes of the messages of clients.
        sent_bytes: Bytes of the messages to clients.
    """

    def __init__(self) -> None:
        self.connections = self.resumed = self.refused = 0
        self.received_bytes = self.sent_bytes = 0
        self._calls: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._seconds = [0] * (len(_BUCKETS_S) + 1)
        self._seconds_total = 0.0

    def count_done(self, kind: str, reply: Reply) -> None:
        """Count a call that was done."""
        self._calls[kind] += 1
        if reply.over and kind != "close":
            self._ended["truncated" if reply.truncated else "terminated"] += 1

    def count_error(self, code: str) -> None:
        """Count a message that was answered with an error."""
        self._errors[str(code)] += 1

    def count_seconds(self, seconds: float) -> None:
        """Count the time from a message to its answer."""
        self._seconds_total += seconds
        for place, bound in enumerate(_BUCKETS_S):
            if seconds <= bound:
                self._seconds[place] += 1
                return
        self._seconds[-1] += 1

    def text(self, *, sessions: int, episodes: int) -> str:
        """Return all counts.

        Args:
            sessions: Sessions that are not over.
            episodes: Live episodes.
        """
        return "".join(f"{line}\n" for line in self._lines(sessions, episodes))

    def _lines(self, sessions: int, episodes: int) -> Iterator[str]:
        yield from _head("info", "gauge", "Version of the server.")
        yield f'agentgym_info{{version="{__version__}"}} 1'
        for name, value, told in (
            ("connections", self.connections, "Open WebSocket connections."),
            ("sessions", sessions, "Sessions that are not over."),
            ("episodes", episodes, "Live episodes."),
        ):
            yield from _head(name, "gauge", told)
            yield f"agentgym_{name} {value}"
        for name, value, told in (
            ("resumed_total", self.resumed, "Sessions to which a client came back."),
            ("refused_total", self.refused, "Connections and requests without a valid token."),
            ("received_bytes_total", self.received_bytes, "Bytes of the messages of clients."),
            ("sent_bytes_total", self.sent_bytes, "Bytes of the messages to clients."),
        ):
            yield from _head(name, "counter", told)
            yield f"agentgym_{name} {value}"
        for name, label, counts, told in (
            ("calls_total", "type", self._calls, "Calls that were done."),
            ("errors_total", "code", self._errors, "Messages answered with an error."),
            ("episodes_ended_total", "end", self._ended, "Episodes that a call ended."),
        ):
            yield from _head(name, "counter", told)
            for key in sorted(counts):
                yield f'agentgym_{name}{{{label}="{key}"}} {counts[key]}'
        yield from _head("call_seconds", "histogram", "Time from a message to its answer.")
        below = 0
        for bound, count in zip((*_BUCKETS_S, float("inf")), self._seconds, strict=True):
            below += count
            shown = "+Inf" if bound == float("inf") else f"{bound:g}"
            yield f'agentgym_call_seconds_bucket{{le="{shown}"}} {below}'
        yield f"agentgym_call_seconds_sum {self._seconds_total:.6f}"
        yield f"agentgym_call_seconds_count {below}"


def _head(name: str, kind: str, told: str) -> Iterator[str]:
    yield f"# HELP agentgym_{name} {told}"
    yield f"# TYPE agentgym_{name} {kind}"
