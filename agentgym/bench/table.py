"""The table of a measurement, for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from agentgym.bench.series import Figure, Figures

_MIN_WIDTH = 100


def print_figures(figures: Figures) -> None:
    """Print median, spread and target of every figure."""
    table = Table("", box=None, pad_edge=False, header_style="dim")
    for name in ("p50", "min – max", "target", ""):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for figure in figures.all:
        table.add_row(*_row(figure))
    console = Console()
    # A pipe has no width of its own; a table cut at 80 columns would lose figures.
    console.width = max(console.width, _MIN_WIDTH)
    console.print(table)
    for note in figures.notes:
        console.print(note, style="dim")


def _row(figure: Figure) -> tuple[str, ...]:
    if figure.value is None:
        return figure.title, "–", "", "", "not measured"
    spread = ""
    if len(figure.samples) > 1:
        spread = f"{min(figure.samples):.2f} – {max(figure.samples):.2f}"
    target = ""
    if figure.bound is not None:
        target = f"{'≥' if figure.at_least else '≤'} {figure.bound:g} {figure.unit}"
    verdict = {None: "", True: "[green]met[/green]", False: "[red]missed[/red]"}[figure.met]
    return figure.title, f"{figure.value:.2f} {figure.unit}", spread, target, verdict
