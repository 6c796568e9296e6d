"""`agentgym compare`: compares agents of runs over what all of them played."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from agentgym.eval.compare import Comparison
    from agentgym.eval.statistics import Estimate, Interval


_MANY = 4
"""Differences from which on chance is mentioned."""


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", help="Compare only these agents; repeatable."),
    ] = None,
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline", metavar="AGENT", help="Compare with this one. Default: the first."
        ),
    ] = "",
    tasks: Annotated[
        bool, typer.Option("--tasks", help="Also show the scores of each task.")
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write it as JSON.", dir_okay=False),
    ] = None,
) -> None:
    """Compare agents of one run or several, in pairs of the same task and seed.

    Tasks and seeds are left out that not every agent played, or that different checks judged.
    The last lines say how many.
    """
    import json

    from agentgym.cli.console import stdout_console
    from agentgym.eval.compare import compare, read_contestants

    found = compare(read_contestants(runs, agents or ()), baseline)
    console = stdout_console()
    console.print(_standings(found))
    console.print()
    console.print(_differences(found))
    if tasks and found.tasks:
        console.print()
        console.print(_by_task(found))
    for number, line in enumerate(_remarks(found)):
        console.print(f"\n{line}" if number == 0 else line, markup=False, soft_wrap=True)
    if json_file is not None:
        json_file.write_text(json.dumps(found.to_json(), indent=2) + "\n", encoding="utf-8")


def _table(first: str, *headings: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(first, overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _standings(found: Comparison) -> Table:
    from rich.text import Text

    table = _table("agent", "mean score", "95% interval", "pass@1", "95% interval")
    for name, standing in found.standings.items():
        cells = (*_cells(standing.score), *_cells(standing.passed))
        table.add_row(Text(name, "bold"), *cells)
    return table


def _differences(found: Comparison) -> Table:
    from rich.text import Text

    missing = bool(found.unscored)
    table = _table(
        *("minus " + found.baseline, *(["pairs"] if missing else []), "mean score"),
        *("95% interval", *(["bounds"] if missing else [])),
        *("pass@1", "95% interval", "better", "equal", "worse"),
    )
    for name, difference in found.differences.items():
        table.add_row(
            Text(name, "bold"),
            *([str(difference.pairs)] if missing else []),
            *_cells(difference.score, "+"),
            *([_span(difference.bounds, "+")] if missing else []),
            *_cells(difference.passed, "+"),
            *map(str, (difference.better, difference.equal, difference.worse)),
        )
    return table


def _by_task(found: Comparison) -> Table:
    """Return the tasks, those with the largest differences first."""
    from rich.text import Text

    names = sorted(found.standings, key=lambda name: name != found.baseline)
    scores = {name: found.standings[name].by_task for name in names}
    table = _table("task", *names)
    spread = {
        task: max(scores[name][task] for name in names) - min(scores[name][task] for name in names)
        for task in scores[found.baseline]
    }
    for task in sorted(spread, key=lambda task: (-spread[task], task)):
        table.add_row(Text(task), *(f"{scores[name][task]:.3f}" for name in names))
    return table


def _remarks(found: Comparison) -> Iterator[str]:
    pairs, tasks = "s" * (found.pairs != 1), "s" * (found.tasks != 1)
    scored = " on which every agent has a score" if found.unscored else ""
    yield f"{found.pairs} pair{pairs} of task and seed{scored}, {found.tasks} task{tasks}"
    for reason, count in found.left_out.items():
        yield f"left out: {count}, {reason}"
    for name, count in found.unscored.items():
        have = "episode has" if count == 1 else "episodes have"
        yield f"{name}: {count} {have} no score; the bounds say what that could change"
    for name, values in found.unlike.items():
        yield f"the runs differ in {name}: {', '.join(map(repr, values))}"
    if count := found.begun_unlike:
        yield (
            f"in {count} pair{'s' * (count != 1)} the first observations differ, such as after an "
            "edit of the instruction"
        )
    if len(found.differences) >= _MANY:
        yield f"the largest of {len(found.differences)} differences may be large by chance"


def _cells(estimate: Estimate, sign: str = "") -> tuple[str, str]:
    mean = "–" if estimate.mean is None else f"{estimate.mean:{sign}.3f}"
    return mean, _span(estimate.ci95, sign)


def _span(interval: Interval | None, sign: str = "") -> str:
    return f"{interval[0]:{sign}.3f} – {interval[1]:{sign}.3f}" if interval else "–"
