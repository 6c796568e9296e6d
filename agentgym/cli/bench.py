"""`agentgym bench`: measure this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def bench(
    name: Annotated[str, typer.Argument(help="What to measure: sandbox.")],
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Also write one flat JSON object.", dir_okay=False
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer repetitions: seconds instead of minutes.")
    ] = False,
) -> None:
    """Measure resets, commands and forks, beside Docker where it is there."""
    from agentgym.bench import run_bench

    run_bench(name, json_file, quick)
