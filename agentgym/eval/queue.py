"""The queue of episodes that have not begun, with preparation of the next ones.

While agents think, the setups of the next episodes run and their sandboxes start, so that an
episode finds its initial state prepared.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice

from agentgym.record.store import EpisodeRow
from agentgym.records import Recipe, Snapshot

StartingPoint = tuple[Recipe, Snapshot]
"""Recipe and snapshot from which an episode's sandbox starts."""


class Queue:
    """Hands each row out once, in order.

    Args:
        rows: The episodes to run.
    """

    def __init__(self, rows: Iterable[EpisodeRow]) -> None:
        self._rows = deque(rows)
        self._taken = asyncio.Event()

    def __iter__(self) -> Queue:
        return self

    def __next__(self) -> EpisodeRow:
        """Return the next row.

        Raises:
            CancelledError: The caller was cancelled, although its last episode did not end so.
        """
        _end_if_cancelled()
        self._taken.set()
        if not self._rows:
            raise StopIteration
        return self._rows.popleft()

    async def look_ahead(
        self,
        depth: int,
        prepare: Callable[[EpisodeRow], Awaitable[StartingPoint | None]],
        expect: Callable[[Recipe, Snapshot], None],
    ) -> None:
        """Prepare the next rows one by one and announce their sandboxes, until all rows are taken.

        Args:
            depth: Number of rows to prepare in advance.
            prepare: Prepares the starting point of an episode; None if it needs no sandbox.
            expect: Called with each starting point that is ready before its episode has begun.
        """
        seen: set[int] = set()
        # The first rows are taken at once, so preparing them in advance would be too late.
        await self._taken.wait()
        while self._rows:
            _end_if_cancelled()
            row = next((row for row in islice(self._rows, depth) if row.id not in seen), None)
            if row is None:
                self._taken.clear()
                await self._taken.wait()
                continue
            seen.add(row.id)
            try:
                start = await prepare(row)
            except Exception:  # noqa: BLE001 - the episode meets the same failure and records it
                continue
            if start is not None and row in self._rows:
                expect(*start)


def _end_if_cancelled() -> None:
    # Code of others, such as an agent's, may have taken the cancellation for its own.
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
