"""Demand: the number of sandboxes to keep ready, from past requests; data only, no clock.

If a start takes `s` seconds at `r` requests a second, `r * s` sandboxes on their way meet the
demand (Little's law), and one more stands ready for the next request. Announced requests need no
such estimate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

IDLE_S = 60.0
"""Time after the last request when a kind of sandbox is no longer kept ready, in seconds."""

ANNOUNCED_S = 600.0
"""Time when an announcement expires, in seconds, because the announcing caller may have failed."""

_REMEMBERED = 16
_NEWEST_SHARE = 0.3

K = TypeVar("K", bound=Hashable)


@dataclass
class Demand:
    """Requests for sandboxes of one kind, and the cost of one of them.

    Attributes:
        last_s: Time of the last request or announcement, in seconds.
        expected: Number of announced sandboxes that are not requested yet.
        memory_mb: Largest measured memory of one; 0 before the first measurement.
    """

    last_s: float
    expected: int = 0
    memory_mb: float = 0.0
    _announced_s: float = 0.0
    _start_s: float = 0.0
    _requests: deque[float] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def announce(self, count: int, now_s: float) -> None:
        """Record that `count` more requests will come."""
        if self.expected == 0:
            self._announced_s = now_s
        self.expected += count
        self.last_s = now_s

    def retract(self, count: int) -> None:
        """Record that `count` announced requests will not come."""
        self.expected = max(0, self.expected - count)

    def request(self, now_s: float) -> None:
        """Record a request."""
        self.last_s = now_s
        if self.expected:
            self.expected -= 1
        else:
            self._requests.append(now_s)

    def took(self, seconds: float) -> None:
        """Record the duration of a start."""
        known = self._start_s or seconds
        self._start_s = known + _NEWEST_SHARE * (seconds - known)

    def wanted(self, now_s: float) -> int:
        """Return the number of sandboxes to have ready or on their way."""
        announced = self.expected if now_s - self.last_s <= ANNOUNCED_S else 0
        return max(announced, self._likely(now_s))

    def _likely(self, now_s: float) -> int:
        # A single request does not predict another one.
        if len(self._requests) < 2 or now_s - self._requests[-1] > IDLE_S:
            return 0
        span_s = now_s - self._requests[0]
        rate = len(self._requests) / span_s if span_s > 0 else 0.0
        return 1 + int(rate * self._start_s)

    @property
    def urgency(self) -> tuple[bool, float]:
        """Sort key: announced kinds first, in order of announcement, then the latest requests."""
        return (False, self._announced_s) if self.expected else (True, -self.last_s)


def share(
    demands: Mapping[K, Demand], now_s: float, *, size: int, memory_mb: float
) -> dict[K, int]:
    """Return how many of each kind to have ready, the most urgent first.

    Args:
        demands: Demand by kind.
        now_s: The current time, in seconds.
        size: Largest number of sandboxes of all kinds together.
        memory_mb: Largest memory of all together. A kind without a measurement gets one sandbox.
    """
    shares: dict[K, int] = {}
    for kind, demand in sorted(demands.items(), key=lambda item: item[1].urgency):
        fitting = int(memory_mb / (demand.memory_mb or memory_mb or 1))
        count = max(0, min(demand.wanted(now_s), size, fitting))
        size -= count
        memory_mb -= count * demand.memory_mb
        shares[kind] = count
    return shares
