"""Count, mean, variance and extremes."""

import math

from gauge.values import finite


class Moments:
    """Statistics of the values that were added."""

    def __init__(self) -> None:
        self.count = 0.0
        self.sum = 0.0
        self.squares = 0.0
        self.least: float | None = None
        self.most: float | None = None

    def add(self, value: float, weight: float = 1) -> None:
        """Count a value; `weight` says how often it was there."""
        value, weight = finite(value), finite(weight, "a weight")
        if weight < 0:
            raise ValueError(f"a weight must not be negative, got {weight}")
        if weight == 0:
            return
        self.count += weight
        self.sum += weight * value
        self.squares += weight * value * value
        self.least = value if self.least is None else min(self.least, value)
        self.most = value if self.most is None else max(self.most, value)

    def merge(self, other: "Moments") -> None:
        """Count all values of another one."""
        if not other.count:
            return
        self.count += other.count
        self.sum += other.sum
        self.squares += other.squares
        assert other.least is not None and other.most is not None
        self.least = other.least if self.least is None else min(self.least, other.least)
        self.most = other.most if self.most is None else max(self.most, other.most)

    @property
    def mean(self) -> float | None:
        return self.sum / self.count if self.count else None

    @property
    def variance(self) -> float | None:
        """The variance of the sample; None for less than two values."""
        if self.count < 2:
            return None
        return (self.squares - self.sum * self.sum / self.count) / (self.count - 1)

    @property
    def deviation(self) -> float | None:
        variance = self.variance
        return None if variance is None else math.sqrt(variance)
