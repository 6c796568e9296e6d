"""Measurements: what `agentgym bench NAME` runs and prints.

Machines are shared and noisy, so what counts are ratios within one run: peers are measured in
turn with ours, round by round, and medians are reported.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentgym.bench.series import Figures
from agentgym.errors import NotFoundError


async def _sandbox(quick: bool) -> Figures:
    from agentgym.bench.sandbox import measure_sandbox

    return await measure_sandbox(quick)


BENCHES: dict[str, Callable[[bool], Awaitable[Figures]]] = {"sandbox": _sandbox}


def run_bench(name: str, json_file: Path | None, quick: bool) -> None:
    """Run a measurement, print its table, and write the flat JSON object.

    Args:
        name: One of `BENCHES`.
        json_file: Where the JSON object goes, or None.
        quick: Fewer repetitions.

    Raises:
        NotFoundError: There is no such measurement.
    """
    from agentgym.bench.table import print_figures

    if name not in BENCHES:
        raise NotFoundError("bench", name, BENCHES, f"there is: {', '.join(BENCHES)}")

    async def run() -> Figures:
        return await BENCHES[name](quick)

    figures = asyncio.run(run())
    print_figures(figures)
    if json_file is not None:
        json_file.write_text(json.dumps(figures.flat(), indent=2) + "\n")
