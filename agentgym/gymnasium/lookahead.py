"""Prepares the next episode of a lane while the current one is played.

The seed of the next episode is known in advance, so its setup runs and its sandbox starts ahead:
a reset then takes a sandbox that is ready.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from agentgym.records import Recipe, Snapshot

if TYPE_CHECKING:
    from agentgym.env.environment import Environment


class Pool(Protocol):
    """The part of `PooledProvider` that is told of coming requests."""

    def expect(self, recipe: Recipe, snapshot: Snapshot | None) -> None:
        """Announce one more request for a kind of sandbox."""
        ...

    def retract(self, recipe: Recipe, snapshot: Snapshot | None) -> None:
        """Take back an announcement."""
        ...


class LookAhead:
    """Announces one lane's next sandbox to a pool.

    Args:
        environment: Prepares the setups; its provider is the pool.
        pool: Starts the sandboxes.
    """

    def __init__(self, environment: Environment, pool: Pool) -> None:
        self._environment, self._pool = environment, pool
        self._seed: int | None = None
        self._announced: tuple[Recipe, Snapshot] | None = None
        self._preparing: asyncio.Task[None] | None = None

    def expect(self, seed: int) -> None:
        """Prepare for an episode of a seed in the background, if nothing is prepared yet."""
        if self._seed is None:
            self._seed = seed
            self._preparing = asyncio.ensure_future(self._prepare(seed))

    async def _prepare(self, seed: int) -> None:
        # The episode meets the same failure and reports it.
        with suppress(Exception):
            self._announced = await self._environment.prepare(seed)
            self._pool.expect(*self._announced)

    async def take(self, seed: int) -> None:
        """Let an episode of a seed begin: waits for its preparation, or takes back another's."""
        if seed != self._seed:
            await self.cancel()
        if self._preparing is not None:
            await asyncio.wait({self._preparing})
        self._seed = self._preparing = self._announced = None

    async def cancel(self) -> None:
        """Take back what was announced. Never raises."""
        preparing, self._preparing = self._preparing, None
        if preparing is not None and not preparing.done():
            preparing.cancel()
            await asyncio.wait({preparing})
        announced, self._announced, self._seed = self._announced, None, None
        if announced is not None:
            self._pool.retract(*announced)
