"""A pool in front of any provider: sandboxes started before they are asked for.

The pool owns the sandboxes that it has not handed out; a handed out sandbox belongs to the caller.
The number of ready sandboxes follows demand (`demand.py`). Foreground starts come first, and every
call of the provider has a deadline (`watchdog.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agentgym.errors import SandboxError
from agentgym.protocols import FileTree, Sandbox, SandboxProvider
from agentgym.records import Bounds, Change, Problem, Recipe, Snapshot
from agentgym.sandbox.demand import IDLE_S, Demand, share
from agentgym.sandbox.watchdog import Deadlines, WatchedProvider

_TEND_S = 2.0
_INSPECT_S = 10.0
_ANSWER_S = 5.0
_FIRST_RETRY_S = 0.5
_LAST_RETRY_S = 60.0
# Number of remembered kinds; an evaluation has one for every task and seed.
_KINDS = 200
# A new owner of a sandbox opens its shell now, and a start would take the processor from it.
_CALM_S = 0.02
_SPARE_SHARE = 0.25

_Key = tuple[str, Snapshot | None]


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """The counters and the current content of a pool.

    Attributes:
        hits: Requests met by a sandbox that was started ahead, or on its way.
        misses: Requests that had to start a sandbox.
        discarded: Sandboxes that died while they were ready.
        faults: Starts ahead that failed.
        given_up: Calls of the provider that overran their deadline.
        ready: Sandboxes that wait to be handed out.
        starting: Sandboxes on their way.
        memory_mb: Measured memory of the ready ones.
        last_fault: Reason of the last failed start ahead.
    """

    hits: int
    misses: int
    discarded: int
    faults: int
    given_up: int
    ready: int
    starting: int
    memory_mb: float
    last_fault: str


@dataclass(eq=False)
class _Line:
    """Sandboxes of one kind, the oldest first; each is a finished or pending start."""

    recipe: Recipe
    snapshot: Snapshot | None
    demand: Demand
    ahead: deque[asyncio.Task[Sandbox]] = field(default_factory=deque)
    fault: Exception | None = None
    failures: int = 0
    retry_at_s: float = 0.0

    def ready(self) -> list[asyncio.Task[Sandbox]]:
        return [start for start in self.ahead if start.done() and not _failed(start)]

    def starting(self) -> int:
        return sum(not start.done() for start in self.ahead)


class PooledProvider:
    """A SandboxProvider that starts sandboxes ahead if demand justifies it.

    Args:
        provider: Starts the sandboxes.
        size: Largest number of sandboxes ready or on their way.
        memory_mb: Largest memory of the ready ones together.
        deadlines: Deadlines for every call of the provider.
        owned: Whether the provider is closed with the pool; False if others use it, too.
        calm_s: Time after a hand-out during which the pool starts nothing, in seconds.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        provider: SandboxProvider,
        *,
        size: int,
        memory_mb: float,
        deadlines: Deadlines | None = None,
        owned: bool = True,
        calm_s: float = _CALM_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.capabilities = provider.name, provider.capabilities
        self.size, self.memory_mb = size, memory_mb
        self._provider, self._owned = WatchedProvider(provider, deadlines), owned
        self._calm_s, self._calm_until_s = calm_s, 0.0
        self._clock = clock
        # A start keeps a processor busy, so half of them stay free for waiting callers.
        self._at_once = max(1, (os.cpu_count() or 1) // 2)
        self._lines: dict[_Key, _Line] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._foreground = 0
        self._hits = self._misses = self._discarded = self._faults = 0
        self._last_fault = ""
        self._inspected_s = clock()
        self._news = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False

    def problems(self) -> Sequence[Problem]:
        """Return what this machine lacks to run the provider."""
        return self._provider.problems()

    def statistics(self) -> PoolStatistics:
        """Return the counters and the current content of the pool."""
        lines = self._lines.values()
        return PoolStatistics(
            hits=self._hits,
            misses=self._misses,
            discarded=self._discarded,
            faults=self._faults,
            given_up=self._provider.given_up,
            ready=sum(len(line.ready()) for line in lines),
            starting=sum(line.starting() for line in lines),
            memory_mb=sum(len(line.ready()) * line.demand.memory_mb for line in lines),
            last_fault=self._last_fault,
        )

    def expect(self, recipe: Recipe, snapshot: Snapshot | None, count: int = 1) -> None:
        """Announce `count` more requests for a kind of sandbox."""
        self._line(recipe, snapshot).demand.announce(count, self._clock())
        self._wake()

    def retract(self, recipe: Recipe, snapshot: Snapshot | None, count: int = 1) -> None:
        """Take back an announcement: `count` of the announced requests will not come."""
        self._line(recipe, snapshot).demand.retract(count)
        self._wake()

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> Sandbox:
        """Hand out a sandbox started ahead of exactly that kind, or start one."""
        line = self._line(recipe, snapshot)
        line.demand.request(self._clock())
        self._foreground += 1
        try:
            sandbox = await self._handed_out(line)
            if sandbox is None:
                self._misses += 1
                sandbox = await self._started_now(line)
            else:
                self._hits += 1
                sandbox.begin()
        finally:
            self._foreground -= 1
        self._calm_until_s = self._clock() + self._calm_s
        self._wake()
        return sandbox

    async def open_tree(self, snapshot: Snapshot) -> FileTree:
        """Open the files of a snapshot for reading, without running anything in it."""
        return await self._provider.open_tree(snapshot)

    async def compare(self, before: Snapshot, after: Snapshot) -> Sequence[Change]:
        """List what changed from one snapshot to another."""
        return await self._provider.compare(before, after)

    async def save_delta(self, before: Snapshot, after: Snapshot, bounds: Bounds) -> bytes:
        """Return the difference of a snapshot to the one it came from, as an archive."""
        return await self._provider.save_delta(before, after, bounds)

    async def load_delta(self, before: Snapshot, data: bytes, bounds: Bounds) -> Snapshot:
        """Return the snapshot in an archive of `save_delta`."""
        return await self._provider.load_delta(before, data, bounds)

    async def find(self, key: str) -> Snapshot | None:
        """Return the snapshot that was kept under a key, if it is still whole."""
        return await self._provider.find(key)

    async def keep(self, key: str, snapshot: Snapshot) -> Snapshot:
        """Make a snapshot outlive this process under a key; the first keeper wins."""
        # The snapshot gets another name; no sandbox may start from the old one.
        await self._forget(snapshot)
        return await self._provider.keep(key, snapshot)

    async def discard(self, snapshot: Snapshot) -> None:
        """Drop a snapshot that was not kept, and end the sandboxes started ahead from it."""
        await self._forget(snapshot)
        await self._provider.discard(snapshot)

    async def close(self) -> None:
        """End the sandboxes that wait, and close the provider if the pool owns it."""
        self._closed = True
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        for line in self._lines.values():
            self._trim(line, 0)
        self._lines.clear()
        if self._ending:
            await asyncio.wait(self._ending)
        if self._owned:
            await self._provider.close()

    # --- the foreground ---

    def _line(self, recipe: Recipe, snapshot: Snapshot | None) -> _Line:
        # A recipe holds a mapping and cannot be hashed; its representation is complete.
        key = (repr(recipe), snapshot)
        if key not in self._lines:
            self._lines[key] = _Line(recipe, snapshot, Demand(self._clock()))
        return self._lines[key]

    async def _handed_out(self, line: _Line) -> Sandbox | None:
        """Return a ready or pending sandbox that answers, or None if the line has no such one."""
        while line.ahead:
            start = line.ahead.popleft()
            try:
                await asyncio.wait({start})
                if not _failed(start) and await self._measured(line, start.result()):
                    return start.result()
            except BaseException:
                self._end(start)
                raise
            if not _failed(start):
                self._discarded += 1
                self._end(start)
        return None

    async def _started_now(self, line: _Line) -> Sandbox:
        try:
            return await self._timed_start(line)
        except SandboxError as error:
            if line.fault is not None and str(line.fault) != str(error):
                error.args = (f"{error}; starting one ahead failed with: {line.fault}",)
            raise

    async def _timed_start(self, line: _Line) -> Sandbox:
        began_s = self._clock()
        sandbox = await self._provider.start(line.recipe, line.snapshot)
        line.demand.took(self._clock() - began_s)
        line.fault, line.failures = None, 0
        return sandbox

    # --- the background ---

    def _wake(self) -> None:
        """Make the keeper check demand again."""
        self._news.set()
        if self._keeper is None and not self._closed:
            self._keeper = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TEND_S):
                    await self._news.wait()
            await asyncio.sleep(self._calm_until_s - self._clock())
            self._news.clear()
            await self.tend()

    async def tend(self) -> None:
        """Adjust the ready sandboxes to demand. The pool calls this by itself all the time."""
        now_s = self._clock()
        if now_s - self._inspected_s > _INSPECT_S:
            self._inspected_s = now_s
            await self._inspect()
        demands = {key: line.demand for key, line in self._lines.items()}
        shares = share(demands, now_s, size=self.size, memory_mb=self.memory_mb)
        for key, count in shares.items():
            self._trim(self._lines[key], count)
        for rank, (key, count) in enumerate(shares.items()):
            line = self._lines[key]
            while len(line.ahead) < count and now_s >= line.retry_at_s and self._may_start():
                self._start_ahead(line)
            idle = now_s - line.demand.last_s > IDLE_S and not line.demand.wanted(now_s)
            if not line.ahead and (idle or rank >= _KINDS):
                del self._lines[key]

    async def _inspect(self) -> None:
        """Replace ready sandboxes that died, and measure the others."""
        for line in list(self._lines.values()):
            for start in line.ready():
                if start not in line.ahead:
                    # Handed out in the meantime, so the pool no longer owns it.
                    continue
                # Its wall time begins only when a caller gets it.
                start.result().begin()
                if not await self._measured(line, start.result()) and start in line.ahead:
                    line.ahead.remove(start)
                    self._discarded += 1
                    self._end(start)

    async def _measured(self, line: _Line, sandbox: Sandbox) -> bool:
        """Record the memory of a ready sandbox; return False if it does not answer."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                usage = await sandbox.usage()
        except Exception:  # noqa: BLE001 - whatever it raises, it does not answer
            return False
        bound_mb = usage.memory_mb
        if bound_mb is None:
            bound_mb = float(line.recipe.limits.memory_mb or 0)
        line.demand.memory_mb = max(line.demand.memory_mb, bound_mb)
        return True

    def _may_start(self) -> bool:
        lines = self._lines.values()
        held = sum(len(line.ahead) for line in lines) + len(self._ending)
        busy = self._foreground or sum(line.starting() for line in lines) >= self._at_once
        return not busy and held < self.size and not self._closed

    def _start_ahead(self, line: _Line) -> None:
        start = asyncio.create_task(self._ahead(line))
        line.ahead.append(start)
        start.add_done_callback(lambda start: self._heard(line, start))

    async def _ahead(self, line: _Line) -> Sandbox:
        sandbox = await self._timed_start(line)
        try:
            if not line.demand.memory_mb and not await self._measured(line, sandbox):
                raise SandboxError(f"sandbox {sandbox.id}, started ahead, does not answer")
        except BaseException:
            # The pool may cancel this start while it ends what does not answer.
            closing = asyncio.create_task(sandbox.close())
            try:
                await asyncio.shield(closing)
            finally:
                await asyncio.wait({closing})
            raise
        return sandbox

    def _heard(self, line: _Line, start: asyncio.Task[Sandbox]) -> None:
        """Record the result of a start ahead; a failed one is retried after growing delays."""
        self._news.set()
        if not _failed(start):
            return
        if start in line.ahead:
            line.ahead.remove(start)
        error = None if start.cancelled() else start.exception()
        if isinstance(error, Exception):
            self._faults += 1
            self._last_fault = str(error)
            delay_s = min(_FIRST_RETRY_S * 2**line.failures, _LAST_RETRY_S)
            line.fault, line.failures = error, line.failures + 1
            line.retry_at_s = self._clock() + delay_s

    def _trim(self, line: _Line, count: int) -> None:
        """End the youngest sandboxes until at most `count` are left."""
        while len(line.ahead) > count:
            self._end(line.ahead.pop())

    def _end(self, start: asyncio.Task[Sandbox]) -> None:
        """End a sandbox that was not handed out, as soon as its start has finished."""
        start.cancel()
        ending = asyncio.create_task(_ended(start))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
        ending.add_done_callback(lambda _: self._news.set())

    async def _forget(self, snapshot: Snapshot) -> None:
        """End the sandboxes started ahead from a snapshot before the snapshot is removed."""
        for key in [key for key in self._lines if key[1] == snapshot]:
            self._trim(self._lines.pop(key), 0)
            if self._ending:
                await asyncio.wait(self._ending)


def spare_memory_mb() -> float:
    """Return the share of this machine's memory for sandboxes that wait for an episode."""
    return _SPARE_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20


def _failed(start: asyncio.Task[Sandbox]) -> bool:
    return start.cancelled() or start.exception() is not None


async def _ended(start: asyncio.Task[Sandbox]) -> None:
    await asyncio.wait({start})
    if not _failed(start):
        await start.result().close()
