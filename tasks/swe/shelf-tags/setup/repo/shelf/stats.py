"""Counters of a shelf."""

from dataclasses import dataclass


@dataclass
class Stats:
    hits: int = 0
    misses: int = 0
    evicted: int = 0
    expired: int = 0
    dropped: int = 0

    @property
    def left(self) -> int:
        """Number of entries that have left."""
        return self.evicted + self.expired + self.dropped
