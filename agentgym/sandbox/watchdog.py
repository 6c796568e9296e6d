"""Deadlines for the calls of any provider: a hanging call costs an episode, never the run.

Commands have their own deadlines. Starting, sealing and closing depend on a daemon or a kernel.
The watchdog gives up a call that overruns and raises a SandboxTimeoutError. If the sandbox cannot
be used after it, it is closed in the background.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from agentgym.errors import SandboxError, SandboxTimeoutError
from agentgym.protocols import FileTree, ImagePlacer, Sandbox, SandboxProvider, state_keeper
from agentgym.records import Audit, Bounds, Change, Problem, Recipe, Snapshot

# Time that a cancelled caller waits until its call is undone, in seconds.
_UNDO_S = 10.0

T = TypeVar("T")
Undo = Callable[[T], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Deadlines of a provider's calls, in seconds.

    Attributes:
        place_s: For bringing the image of a recipe to where sandboxes start from it, once.
        start_s: For a start, without the time that its recipe gives to services.
        state_s: For calls that move files: seal, snapshot, fork, restore, compare, keep.
        close_s: For closing a sandbox.
    """

    place_s: float = 1800.0
    start_s: float = 120.0
    state_s: float = 300.0
    close_s: float = 60.0


class WatchedProvider:
    """A SandboxProvider whose every call ends in time.

    Args:
        provider: The provider that does the work.
        deadlines: The deadlines of its calls.

    Attributes:
        given_up: Number of calls that overran.
    """

    def __init__(self, provider: SandboxProvider, deadlines: Deadlines | None = None) -> None:
        self.name, self.capabilities = provider.name, provider.capabilities
        self.deadlines = deadlines or Deadlines()
        self.given_up = 0
        self._provider = provider
        # References to background tasks, which could otherwise be collected before their end.
        self._left: set[asyncio.Task[None]] = set()

    def problems(self) -> Sequence[Problem]:
        """Return what this machine lacks to run the provider."""
        return self._provider.problems()

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> Sandbox:
        """Start a sandbox."""
        if isinstance(self._provider, ImagePlacer):
            placing = self._provider.place(recipe)
            await self.within(self.deadlines.place_s, "place an image", placing)
        limit_s = self.deadlines.start_s + sum(s.timeout_s for s in recipe.services)
        starting = self._provider.start(recipe, snapshot)
        return self.watched(await self.within(limit_s, "start a sandbox", starting, _close))

    def watched(self, sandbox: Sandbox) -> Sandbox:
        """Return the sandbox with deadlines for calls that change its state."""
        # WatchedSandbox forwards other attributes to the sandbox, which its type does not show.
        return cast(Sandbox, WatchedSandbox(self, sandbox))

    async def open_tree(self, snapshot: Snapshot) -> FileTree:
        """Open the files of a snapshot for reading."""
        return await self.state("open a snapshot", self._provider.open_tree(snapshot))

    async def compare(self, before: Snapshot, after: Snapshot) -> Sequence[Change]:
        """List what changed from one snapshot to another."""
        return await self.state("compare snapshots", self._provider.compare(before, after))

    async def save_delta(self, before: Snapshot, after: Snapshot, bounds: Bounds) -> bytes:
        """Return the difference of a snapshot to the one it came from, as an archive."""
        saving = state_keeper(self._provider).save_delta(before, after, bounds)
        return await self.state("keep a state", saving)

    async def load_delta(self, before: Snapshot, data: bytes, bounds: Bounds) -> Snapshot:
        """Return the snapshot in an archive of `save_delta`."""
        loading = state_keeper(self._provider).load_delta(before, data, bounds)
        return await self.state("load a state", loading)

    async def find(self, key: str) -> Snapshot | None:
        """Return the snapshot that was kept under a key."""
        return await self.state("look for a snapshot", self._provider.find(key))

    async def keep(self, key: str, snapshot: Snapshot) -> Snapshot:
        """Make a snapshot outlive this process under a key."""
        return await self.state("keep a snapshot", self._provider.keep(key, snapshot))

    async def discard(self, snapshot: Snapshot) -> None:
        """Drop a snapshot that was not kept."""
        await self.end("drop a snapshot", self._provider.discard(snapshot))

    async def close(self) -> None:
        """Close every sandbox; the sweep of the next process removes what cannot be closed now."""
        await self.end("close", self._provider.close())

    # --- deadlines ---

    async def state(
        self, what: str, call: Coroutine[Any, Any, T], undo: Undo[T] | None = None
    ) -> T:
        """Wait for a call that moves files."""
        return await self.within(self.deadlines.state_s, what, call, undo)

    async def end(self, what: str, call: Coroutine[Any, Any, None]) -> None:
        """Wait for the end of a sandbox, and continue if it does not come."""
        with contextlib.suppress(SandboxTimeoutError):
            await self.within(self.deadlines.close_s, what, call)

    async def within(
        self,
        seconds: float,
        what: str,
        call: Coroutine[Any, Any, T],
        undo: Undo[T] | None = None,
    ) -> T:
        """Wait for a call; at the deadline or on cancellation, cancel it and give it up.

        Unlike `asyncio.timeout` this does not wait until the call has handled its cancellation.

        Args:
            seconds: The deadline.
            what: Name of the action, for the message.
            call: The call.
            undo: Applied to a late result.

        Raises:
            SandboxTimeoutError: The call overran its deadline.
        """
        task = asyncio.ensure_future(call)
        try:
            await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:
            await asyncio.wait({self._give_up(task, undo)}, timeout=_UNDO_S)
            raise
        if task.done():
            return task.result()
        self.given_up += 1
        self._give_up(task, undo)
        raise SandboxTimeoutError(
            f"{self.name} did not {what} within {seconds:g} s and was given up; "
            "if it goes on, see: agentgym doctor"
        )

    def _give_up(self, task: asyncio.Task[T], undo: Undo[T] | None) -> asyncio.Task[None]:
        task.cancel()
        return self.later(_undone(task, undo))

    def later(self, call: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a call in the background."""
        task = asyncio.create_task(call)
        self._left.add(task)
        task.add_done_callback(self._left.discard)
        return task


class WatchedSandbox:
    """A Sandbox with deadlines for state changes and its end; other calls go to the sandbox.

    A seal or a restoration that overruns ends it.
    """

    def __init__(self, provider: WatchedProvider, sandbox: Sandbox) -> None:
        self._provider, self._sandbox = provider, sandbox

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    async def snapshot(self) -> Snapshot:
        """Take a snapshot of the current files."""
        # A guest can leave so much that a copy overruns. It goes on without it, and is judged.
        call = self._sandbox.snapshot()
        return await self._provider.state("take a snapshot", call, self._provider.discard)

    async def seal(self) -> Snapshot:
        """End everything inside, keep the files as a snapshot, and close."""
        return await self._or_end("seal", self._sandbox.seal(), self._provider.discard)

    async def fork(self) -> Sandbox:
        """Start another sandbox from the current files."""
        forking = self._provider.state("fork", self._sandbox.fork(), _close)
        return self._provider.watched(await forking)

    async def restore(self, snapshot: Snapshot) -> None:
        """End everything inside and continue from an earlier snapshot."""
        await self._or_end("restore a snapshot", self._sandbox.restore(snapshot))

    async def audit(self) -> Audit:
        """Return the records that the guest cannot reach."""
        # Its files can be sealed and judged all the same.
        return await self._provider.state("audit", self._sandbox.audit())

    async def close(self) -> None:
        """End everything and remove every trace. It never raises and may be called twice."""
        await self._provider.end("close a sandbox", self._sandbox.close())

    async def _or_end(
        self, what: str, call: Coroutine[Any, Any, T], undo: Undo[T] | None = None
    ) -> T:
        """Wait for a call; end the sandbox if the call overruns."""
        try:
            return await self._provider.state(what, call, undo)
        except SandboxTimeoutError:
            self._provider.later(self._sandbox.close())
            raise


async def _close(sandbox: Sandbox) -> None:
    await sandbox.close()


async def _undone(task: asyncio.Task[T], undo: Undo[T] | None) -> None:
    """Wait for a call that was given up and undo its result."""
    await asyncio.wait({task})
    if not task.cancelled() and task.exception() is None and undo is not None:
        with contextlib.suppress(SandboxError):
            await undo(task.result())
