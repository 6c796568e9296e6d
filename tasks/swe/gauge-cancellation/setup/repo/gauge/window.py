"""Statistics of the last values."""

from collections import deque

from gauge.moments import Moments
from gauge.values import finite


class Window:
    """The last `size` values."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"size: expected at least 1, got {size}")
        self.size = size
        self._values: deque[float] = deque()
        self._moments = Moments()

    def add(self, value: float) -> None:
        """Count a value; the oldest one leaves if there are too many."""
        value = finite(value)
        self._values.append(value)
        self._moments.add(value)
        if len(self._values) > self.size:
            left = self._values.popleft()
            self._moments.count -= 1
            self._moments.sum -= left
            self._moments.squares -= left * left

    @property
    def count(self) -> float:
        return self._moments.count

    @property
    def mean(self) -> float | None:
        return self._moments.mean

    @property
    def variance(self) -> float | None:
        return self._moments.variance

    @property
    def deviation(self) -> float | None:
        return self._moments.deviation

    @property
    def least(self) -> float | None:
        return min(self._values, default=None)

    @property
    def most(self) -> float | None:
        return max(self._values, default=None)
