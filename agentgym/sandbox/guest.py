"""One running bubblewrap sandbox, seen from the host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from agentgym.errors import SandboxDiedError, SandboxError
from agentgym.protocols import FileTree
from agentgym.records import Change, Recipe, Snapshot, Usage
from agentgym.sandbox.carried_through import carried_through
from agentgym.sandbox.channel import Channel
from agentgym.sandbox.control_group import ControlGroup
from agentgym.sandbox.fork_server import ForkServer
from agentgym.sandbox.launch import Launch, may_give_ids
from agentgym.sandbox.layer_names import MAX_LAYERS, binds_of
from agentgym.sandbox.store import LayerStore
from agentgym.sandbox.supervised import Supervised
from agentgym.sandbox.unlinked import sends_descriptors, unlinked_bytes
from agentgym.sandbox.watch import descriptor_ended, ended
from agentgym.threads import FILES, to_thread

_START_S = 20.0
_END_S = 2.0


class BubblewrapSandbox(Supervised):
    """A Sandbox. Made by BubblewrapProvider; `boot` starts it.

    Args:
        store: Holds its layers.
        recipe: Its recipe.
        provider: Name of the provider, for its snapshots.
        isolated: See `Launch`.
        forks: Returns the fork server for its processes.
        start: Starts another sandbox (for forks).
        on_close: Called once, when every trace is removed.
        descends: Whether it starts from a snapshot: its files are then an agent's, and a copy of
            them has a limited number of names.
    """

    def __init__(
        self,
        store: LayerStore,
        recipe: Recipe,
        *,
        provider: str,
        isolated: bool,
        forks: Callable[[], Awaitable[ForkServer]],
        start: Callable[[Recipe, Snapshot], Awaitable[BubblewrapSandbox]],
        on_close: Callable[[BubblewrapSandbox], None],
        descends: bool,
    ) -> None:
        super().__init__(recipe)
        self._descends = descends
        self._store, self._provider, self._isolated = store, provider, isolated
        self._forks, self._start, self._on_close = forks, start, on_close
        self._layers: tuple[str, ...] = ()
        self._upper = ""
        self._server: ForkServer | None = None
        # A descriptor of its PID 1 (pidfd_open(2)).
        self._process: int | None = None
        self._group: ControlGroup | None = None
        # Descriptors with which its process joins the group, open during its start.
        self._members: list[int] = []
        self._closed = False

    @property
    def id(self) -> str:
        """Name unique within this host."""
        return self._upper.removeprefix("live/")

    @property
    def host_pid(self) -> int:
        """Process id of its PID 1 on the host; 0 after its end."""
        if self._process is None:
            return 0
        lines = Path(f"/proc/self/fdinfo/{self._process}").read_text().splitlines()
        fields = dict(line.split(":\t", 1) for line in lines)
        return max(0, int(fields["Pid"]))

    @property
    def _has_one_id(self) -> bool:
        # Files of an image belong to its own users; a sandbox without an image gets one id.
        own_ids = bool(self.recipe.image) or self.recipe.user != "root"
        return not (own_ids and may_give_ids())

    # --- life ---

    async def boot(self, layers: tuple[str, ...]) -> None:
        """Start the processes over a stack of layers."""
        self._store.hold(layers)
        self._layers = layers
        self._ended_by = ""
        try:
            await FILES.finish(self._make_place)
            launch = Launch(
                layers,
                self._upper,
                self._store.runtime,
                self.recipe,
                host_usr=bool(binds_of(layers)),
                many_ids=not self._has_one_id,
                enforced=self._group.enforced if self._group is not None else (),
                isolated=self._isolated,
            )
            async with asyncio.timeout(_START_S):
                await self._fork(launch)
        except (TimeoutError, SandboxDiedError) as error:
            reason = str(error) or f"no answer within {_START_S:g} s"
            raise SandboxError(f"sandbox did not start: {reason}") from None
        finally:
            while self._members:
                os.close(self._members.pop())
        assert self._channel is not None
        self._channel.on_close(self._lost)
        await self._furnish(self._store.disk)

    def _make_place(self) -> None:
        """Make the upper directory and the control group; a busy disk makes this slow."""
        self._upper = self._store.new_upper()
        self._group = ControlGroup.create(self.id, self.recipe.limits)
        self._members = [] if self._group is None else self._group.open_members()

    async def _fork(self, launch: Launch) -> None:
        """Fork the processes and wait for the supervisor's greeting."""
        self._server = await self._forks()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                await self._server.fork(launch.request(), theirs, self._members)
        except BaseException:
            ours.close()
            raise
        self._channel = await Channel.open(ours, self.id)
        greeting, _ = await self._channel.hello()
        self._process = self._channel.take_process()
        if self._process is None:
            reason = greeting.get("error", "its supervisor sent no descriptor of its process")
            raise SandboxError(f"sandbox did not start: {reason}")

    def _lost(self) -> None:
        """Record that the supervisor ended: by itself or with the fork server."""
        if self._server is not None and self._server.ended:
            self._died_of = "the fork server ended, and with it every sandbox that it had forked"
        else:
            super()._lost()

    def _written(self) -> int:
        return self._store.size(f"{self._upper}/u") + unlinked_bytes(self.host_pid)

    async def _gone(self) -> None:
        if pid := self.host_pid:
            await ended(pid)

    def _left(self) -> int:
        return self._store.size(f"{self._upper}/u")

    def _empty(self, most: int) -> tuple[int, str]:
        return self._store.empty(f"{self._upper}/u", most)

    def _hides(self) -> bool:
        return sends_descriptors(self.host_pid)

    def _end(self, reason: str) -> None:
        """End the sandbox because it exceeded a limit that the kernel does not watch."""
        self._ended_by = reason
        self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process, signal.SIGKILL)

    async def _killed_for_memory(self) -> int | None:
        """Return how many processes the memory limit ended, or None if they are not counted."""
        return None if self._group is None else await to_thread(self._group.killed_for_memory)

    async def _halt(self) -> None:
        """End every process inside and wait for their end."""
        if self._process is None and self._channel is not None:
            # A start was cancelled half-way; wait for its process, and then for the process's end.
            with contextlib.suppress(TimeoutError, SandboxError):
                async with asyncio.timeout(_END_S):
                    await self._channel.hello()
                self._process = self._channel.take_process()
        await self._hang_up()
        if self._process is not None:
            try:
                async with asyncio.timeout(_END_S):
                    await descriptor_ended(self._process)
            except TimeoutError:
                self._kill()
                await descriptor_ended(self._process)
            os.close(self._process)
            self._process = None

    async def close(self) -> None:
        """End everything and remove every trace. It never raises and may be called twice."""
        if self._closed:
            return
        self._closed = True
        await asyncio.shield(asyncio.ensure_future(self._dispose()))

    async def _dispose(self) -> None:
        await self._halt()
        with contextlib.suppress(OSError, SandboxError):
            await to_thread(self._clear, self._group, self._upper, self._layers)
        self._on_close(self)

    def _clear(self, group: ControlGroup | None, upper: str, layers: tuple[str, ...]) -> None:
        """Remove the group and the layers of an ended guest; this may be slow."""
        if group is not None:
            group.remove()
        if upper:
            self._store.remove(upper)
        self._store.release(layers)

    async def usage(self) -> Usage:
        """Return the usage of resources and the mechanism of each limit."""
        header, _ = await self._ask("usage")
        limits = self.recipe.limits
        written = await to_thread(self._store.size, f"{self._upper}/u")
        mechanisms = {
            "pids": "rlimit",
            "memory_mb": "rlimit (each process)",
            "disk_mb": "rlimit (each file) and watch",
            "wall_s": "timer",
            "output_bytes": "supervisor",
        }
        enforced = {k: how for k, how in mechanisms.items() if getattr(limits, k) is not None}
        if self._group is not None:
            enforced |= self._group.enforced
        return Usage(
            cpu_s=header["cpu_s"],
            memory_mb=header["memory_bytes"] / 2**20,
            processes=header["processes"],
            disk_mb=written / 2**20,
            enforced=enforced,
        )

    # --- state ---

    async def snapshot(self) -> Snapshot:
        """Take a snapshot of the current files; processes continue."""
        return await carried_through(self._snapshot(), self._release)

    async def _release(self, snapshot: Snapshot) -> None:
        await to_thread(self._store.release, snapshot.layers)

    async def _snapshot(self) -> Snapshot:
        upper = f"{self._upper}/u"
        async with self._store.disk.copying(self._left), self._frozen():
            layers = self._layers
            if not self._store.is_empty(upper):
                if self._descends:
                    await to_thread(self._store.check_copyable, upper)
                layers = (await to_thread(self._store.copy, [upper]), *layers)
        return await self._as_snapshot(layers)

    async def seal(self) -> Snapshot:
        """End everything inside, keep the files as a snapshot, and close. Copies nothing."""
        await self._halt()
        await self._make_room(self._store.disk)
        snapshot = await self._as_snapshot(await FILES.finish(self._sealed))
        await self.close()
        return snapshot

    def _sealed(self) -> tuple[str, ...]:
        """Return the layers, with the upper directory as the first unless it is empty."""
        if self._store.is_empty(f"{self._upper}/u"):
            return self._layers
        return (self._store.seal(self._upper), *self._layers)

    async def _as_snapshot(self, layers: tuple[str, ...]) -> Snapshot:
        shallow = layers
        if len(layers) > MAX_LAYERS:
            shallow = await to_thread(self._store.shallow, layers)
        self._store.hold(shallow)
        if shallow != layers and layers[0] not in self._layers:
            await to_thread(self._store.remove, layers[0])
        return Snapshot(self._provider, shallow)

    async def fork(self) -> BubblewrapSandbox:
        """Start another sandbox from the current files."""
        snapshot = await self.snapshot()
        try:
            return await self._start(self.recipe, snapshot)
        finally:
            await self._release(snapshot)

    async def restore(self, snapshot: Snapshot) -> None:
        """End everything inside and continue from an earlier snapshot."""
        if snapshot.provider != self._provider:
            raise SandboxError(f"a snapshot of {snapshot.provider!r} cannot be restored here")
        await self._store.disk.wait_for_room()
        self._descends = True
        self._store.hold(snapshot.layers)
        group, upper, layers = self._group, self._upper, self._layers
        try:
            await self._halt()
            await self.boot(snapshot.layers)
        finally:
            await to_thread(self._store.release, snapshot.layers)
            await to_thread(self._clear, group, upper, layers)

    @property
    def _live(self) -> tuple[str, ...]:
        """The stack that the guest sees, including the directory it writes to."""
        return (f"{self._upper}/u", *self._layers)

    async def _live_tree(self) -> FileTree:
        if self._process is None:
            raise SandboxDiedError(f"sandbox {self.id} is closed")
        return self._store.tree(self._live)

    async def changes(self, since: Snapshot | None = None) -> Sequence[Change]:
        """List paths that differ from `since` (default: the snapshot it started from)."""
        return await carried_through(self._changes(since))

    async def _changes(self, since: Snapshot | None) -> Sequence[Change]:
        before = self._layers if since is None else since.layers
        after = self._live
        # The tree reads by path: a moving guest could lead it out of the layers, or to a FIFO.
        async with self._frozen():
            return await to_thread(self._store.changes, before, after)
