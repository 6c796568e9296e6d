"""The logical clock of an episode, which steps advance and wall time does not.

It is not the guest's system time; event scripts read it from ``$AGENTGYM_NOW``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class LogicalClock:
    """Seconds since the start of an episode, the same in every replay.

    Args:
        start: Time at the start of the episode, in UTC.

    Example:
        >>> from datetime import UTC
        >>> clock = LogicalClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
        >>> clock.advance(90)
        >>> str(clock)
        '2026-03-02T09:01:30Z'
    """

    def __init__(self, start: datetime) -> None:
        self._start = start
        self.elapsed_s = 0.0

    def advance(self, seconds: float) -> None:
        """Advance the clock."""
        self.elapsed_s += seconds

    @property
    def spoken(self) -> str:
        """Time with its day of the week: ``Monday, 2026-03-02T09:00:00Z``."""
        return f"{_DAYS[self._now.weekday()]}, {self}"

    @property
    def _now(self) -> datetime:
        return self._start + timedelta(seconds=int(self.elapsed_s))

    def __str__(self) -> str:
        """Return the time in ISO 8601, in whole seconds."""
        return self._now.strftime("%Y-%m-%dT%H:%M:%SZ")
