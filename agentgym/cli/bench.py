"""`agentgym bench`: measure this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentgym.errors import ConfigError


def bench(
    name: Annotated[
        str,
        typer.Argument(
            help="What to measure: sandbox, pool, verify, tools, rl, cost, swe, web, desktop or "
            "cluster."
        ),
    ],
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Also write one flat JSON object.", dir_okay=False
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer repetitions: seconds instead of minutes.")
    ] = False,
    jobs: Annotated[
        str | None,
        typer.Option(
            "--jobs", metavar="N,N,…", help="pool: concurrent episodes. Default: 1,4,16,64,256."
        ),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option("--provider", help="pool: the sandbox provider. Default: bubblewrap."),
    ] = None,
    models: Annotated[
        bool, typer.Option("--models", help="rl: a small language model too if there is no GPU.")
    ] = False,
) -> None:
    """Measure resets and forks against Docker, episodes by jobs, grading, services, or costs."""
    from agentgym.bench import run_bench

    run_bench(name, json_file, quick, jobs=_numbers(jobs), provider=provider, models=models)


def _numbers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise ConfigError(f"--jobs: expected positive numbers like 1,4,16, got {text!r}")
    return tuple(dict.fromkeys(map(int, parts)))
