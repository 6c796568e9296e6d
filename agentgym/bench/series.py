"""Figures: named series of measurements with a target, reduced to medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Figure:
    """One measured quantity.

    Attributes:
        key: Name in the JSON object, e.g. ``"bubblewrap.exec_ms.p50"``.
        title: What a person reads.
        unit: ``"ms"``, ``"MB"``, ``"x"`` or ``"%"``.
        bound: Target, None where there is none.
        at_least: The target is a lower bound.
        samples: What was measured.
    """

    key: str
    title: str
    unit: str
    bound: float | None = None
    at_least: bool = False
    samples: list[float] = field(default_factory=list)

    @property
    def value(self) -> float | None:
        """The median, None where nothing was measured."""
        return statistics.median(self.samples) if self.samples else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met, None without target or value."""
        if self.value is None or self.bound is None:
            return None
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    @asynccontextmanager
    async def timed(self) -> AsyncIterator[None]:
        """Add the milliseconds that the body takes."""
        started = time.perf_counter()
        yield
        self.samples.append((time.perf_counter() - started) * 1e3)


class Figures:
    """The figures of one measurement, in the order they are shown."""

    def __init__(self, *figures: Figure) -> None:
        self.all = list(figures)
        self.notes: list[str] = []

    def __getitem__(self, key: str) -> Figure:
        return next(figure for figure in self.all if figure.key == key)

    def ratio(self, key: str, over: str, under: str) -> None:
        """Set a figure to the ratio of two medians, where both were measured."""
        a, b = self[over].value, self[under].value
        if a is not None and b:
            self[key].samples = [a / b]

    def flat(self) -> dict[str, float]:
        """Return key to median, figures that were not measured left out."""
        return {f.key: round(f.value, 4) for f in self.all if f.value is not None}
