"""Measures resets of an environment whose pool has a sandbox ready."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentgym.bench.engine import trivial_task
from agentgym.bench.series import Figure
from agentgym.env.environment import Environment
from agentgym.protocols import SandboxProvider
from agentgym.sandbox.pool import PooledProvider

_SPARE_MB = 1000.0
_LOOK_S = 0.002


class ReadyResets:
    """Measures all of `Environment.start`, hand-out and shell included, with a sandbox ready.

    Args:
        provider: Starts the sandboxes; `close` closes it.
        folder: An empty folder for the task.
    """

    def __init__(self, provider: SandboxProvider, folder: Path) -> None:
        self._pool = PooledProvider(provider, size=1, memory_mb=_SPARE_MB)
        self._environment = Environment(trivial_task(folder), self._pool)

    async def measure(self, figure: Figure) -> None:
        """Wait until a sandbox is ready, then take the time of a start."""
        self._pool.expect(*await self._environment.prepare(0))
        while not self._pool.statistics().ready:
            await asyncio.sleep(_LOOK_S)
        async with figure.timed():
            episode = await self._environment.start(0)
        await episode.close()

    async def close(self) -> None:
        """Close the environment, the pool and the provider."""
        await self._environment.close()
        await self._pool.close()
