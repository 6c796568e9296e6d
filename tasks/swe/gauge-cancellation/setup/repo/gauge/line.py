"""The line through pairs of values with the least squares."""

import math

from gauge.values import finite


class Line:
    """Slope, intercept and correlation of pairs."""

    def __init__(self) -> None:
        self.count = 0
        self._x = self._y = 0.0
        self._xx = self._xy = self._yy = 0.0

    def add(self, x: float, y: float) -> None:
        """Count a pair."""
        x, y = finite(x), finite(y)
        self.count += 1
        self._x += x
        self._y += y
        self._xx += x * x
        self._xy += x * y
        self._yy += y * y

    def merge(self, other: "Line") -> None:
        """Count all pairs of another line."""
        self.count += other.count
        self._x += other._x
        self._y += other._y
        self._xx += other._xx
        self._xy += other._xy
        self._yy += other._yy

    @property
    def slope(self) -> float | None:
        """None for less than two pairs, and if all x are equal."""
        across = self.count * self._xx - self._x * self._x
        if self.count < 2 or across == 0:
            return None
        return (self.count * self._xy - self._x * self._y) / across

    @property
    def intercept(self) -> float | None:
        slope = self.slope
        return None if slope is None else (self._y - slope * self._x) / self.count

    @property
    def correlation(self) -> float | None:
        """None for less than two pairs, and if all x or all y are equal."""
        across = self.count * self._xx - self._x * self._x
        up = self.count * self._yy - self._y * self._y
        if self.count < 2 or across <= 0 or up <= 0:
            return None
        return (self.count * self._xy - self._x * self._y) / math.sqrt(across * up)
