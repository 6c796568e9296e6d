"""The table of a measurement, for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from agentgym.bench.series import Figure, Figures


def print_figures(figures: Figures) -> None:
    """Print median, spread and target of every figure."""
    table = Table(title="medians of this run", title_justify="left")
    for name, justify in (("", "left"), ("p50", "right"), ("min", "right"), ("max", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("target", justify="right")
    table.add_column("")
    table.add_column("key", style="dim")
    for figure in figures.all:
        table.add_row(*_row(figure))
    console = Console()
    console.print(table)
    for note in figures.notes:
        console.print(f"[dim]{note}[/dim]")


def _row(figure: Figure) -> list[str]:
    if figure.value is None:
        return [figure.title, "not measured", "", "", "", "", figure.key]
    shown = [f"{x:.2f} {figure.unit}" for x in (figure.value, *_spread(figure))]
    target = ""
    if figure.bound is not None:
        target = f"{'≥' if figure.at_least else '≤'} {figure.bound:g} {figure.unit}"
    verdict = {None: "", True: "[green]met[/green]", False: "[red]missed[/red]"}[figure.met]
    return [figure.title, *shown, target, verdict, figure.key]


def _spread(figure: Figure) -> tuple[float, float]:
    return min(figure.samples), max(figure.samples)
