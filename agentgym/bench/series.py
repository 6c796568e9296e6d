"""Figures: named series of measurements with a target, reduced to medians, and their table."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table


@dataclass
class Figure:
    """One measured quantity.

    Attributes:
        key: Name in the JSON object, e.g. ``"bubblewrap.exec_ms.p50"``.
        title: Name for people.
        unit: ``"ms"``, ``"MB"``, ``"x"`` or ``"%"``.
        bound: Target, None if the figure has no target.
        at_least: Whether the target is a lower bound.
        samples: Measured values.
    """

    key: str
    title: str
    unit: str
    bound: float | None = None
    at_least: bool = False
    samples: list[float] = field(default_factory=list)

    @property
    def value(self) -> float | None:
        """Median of the samples, None without samples."""
        return statistics.median(self.samples) if self.samples else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target or a value."""
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
    """The figures of one measurement, in display order."""

    def __init__(self, *figures: Figure) -> None:
        self.all = list(figures)
        self.notes: list[str] = []

    def __getitem__(self, key: str) -> Figure:
        return next(figure for figure in self.all if figure.key == key)

    def ratio(self, key: str, over: str, under: str) -> None:
        """Set a figure to the ratio of two medians, if both were measured."""
        a, b = self[over].value, self[under].value
        if a is not None and b:
            self[key].samples = [a / b]

    def flat(self) -> dict[str, float]:
        """Return key to median; figures that were not measured are left out."""
        return {f.key: round(f.value, 4) for f in self.all if f.value is not None}

    def show(self, console: Console) -> None:
        """Print median, spread and target of every figure that was measured."""
        table = Table("", box=None, pad_edge=False, header_style="dim")
        for name in ("p50", "min – max", "target", ""):
            table.add_column(name, justify="right" if name else "left", no_wrap=True)
        for figure in self.all:
            if figure.value is not None:
                table.add_row(*_row(figure, figure.value))
        console.print(table)
        for note in self.notes:
            console.print(note, style="dim")


def _row(figure: Figure, value: float) -> tuple[str, ...]:
    spread = ""
    if len(figure.samples) > 1:
        spread = f"{min(figure.samples):.2f} – {max(figure.samples):.2f}"
    target = ""
    if figure.bound is not None:
        target = f"{'≥' if figure.at_least else '≤'} {figure.bound:g} {figure.unit}"
    verdict = {None: "", True: "[green]met[/green]", False: "[red]missed[/red]"}[figure.met]
    return figure.title, f"{value:.2f} {figure.unit}", spread, target, verdict
