"""Runs and prints the measurements of `agentgym bench NAME`.

Machines are shared and noisy, so ratios within one run count: each round measures a peer and
agentgym in turn, and medians are reported.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agentgym.errors import ConfigError, NotFoundError

if TYPE_CHECKING:  # a server that is measured needs no console
    from rich.console import Console

BENCHES = ("sandbox", "pool", "verify", "tools", "rl", "cost", "swe", "web", "desktop", "cluster")
# A pipe has no width of its own; a table cut at 80 columns would lose figures.
_MIN_WIDTH = 100


class Measured(Protocol):
    """The result of a measurement."""

    def flat(self) -> Mapping[str, float | str]:
        """Return key to figure, or to a name."""
        ...

    def show(self, console: Console) -> None:
        """Print the table for people."""
        ...


def run_bench(
    name: str,
    json_file: Path | None,
    quick: bool,
    *,
    jobs: Sequence[int] | None = None,
    provider: str | None = None,
    models: bool = False,
) -> None:
    """Run a measurement, print its table, and write the flat JSON object.

    Args:
        name: One of `BENCHES`.
        json_file: Where to write the JSON object, or None.
        quick: Whether to do fewer repetitions.
        jobs: For ``pool``: numbers of concurrent episodes.
        provider: For ``pool``: name of the sandbox provider.
        models: For ``rl``: measure a language model without a GPU too.

    Raises:
        NotFoundError: No measurement has this name.
        ConfigError: The option belongs to another measurement.
    """
    if name not in BENCHES:
        raise NotFoundError("bench", name, BENCHES, f"there is: {', '.join(BENCHES)}")
    if name != "pool" and (jobs or provider):
        raise ConfigError(f"bench {name} takes no --jobs and no --provider; they are for: pool")
    if name != "rl" and models:
        raise ConfigError(f"bench {name} takes no --models; it is for: rl")
    measured = asyncio.run(_measure(name, quick, jobs, provider, models, _tell))
    from rich.console import Console

    console = Console()
    console.width = max(console.width, _MIN_WIDTH)
    measured.show(console)
    if json_file is not None:
        json_file.write_text(json.dumps(measured.flat(), indent=2) + "\n")


def _tell(line: str) -> None:
    """Print what is measured now, for those that wait for minutes."""
    print(f"bench: {line}", file=sys.stderr, flush=True)


async def _measure(
    name: str,
    quick: bool,
    jobs: Sequence[int] | None,
    provider: str | None,
    models: bool,
    tell: Callable[[str], None],
) -> Measured:
    if name == "sandbox":
        from agentgym.bench.sandbox import measure_sandbox

        return await measure_sandbox(quick)
    if name == "verify":
        from agentgym.bench.verify import measure_verify

        return await measure_verify(quick)
    if name == "tools":
        from agentgym.bench.tools import measure_tools

        return await measure_tools(quick)
    if name == "rl":
        from agentgym.bench.rl import measure_rl

        return await measure_rl(quick, models)
    if name == "cost":
        from agentgym.bench.cost import measure_cost

        return await measure_cost(quick)
    if name == "web":
        from agentgym.bench.web import measure_web

        return await measure_web(quick, tell)
    if name == "desktop":
        from agentgym.bench.desktop import measure_desktop

        return await measure_desktop(quick, tell)
    if name == "cluster":
        from agentgym.bench.cluster import measure_cluster

        return await measure_cluster(quick)
    if name == "swe":
        from agentgym.bench.swe import measure_swe

        return await measure_swe(quick, tell)
    from agentgym.bench.pool import JOBS, QUICK_JOBS, measure_pool

    return await measure_pool(
        provider or "bubblewrap", jobs or (QUICK_JOBS if quick else JOBS), quick
    )
