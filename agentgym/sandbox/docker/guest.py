"""One running Docker container with the guest supervisor as PID 1, seen from the host."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from agentgym.errors import SandboxDiedError, SandboxError
from agentgym.protocols import FileTree
from agentgym.records import Change, ChangeKind, Recipe, Snapshot, Usage
from agentgym.sandbox.carried_through import carried_through
from agentgym.sandbox.channel import Channel
from agentgym.sandbox.control_group import kills, memory_group
from agentgym.sandbox.docker.allowance import Allowance
from agentgym.sandbox.docker.bases import host_folders, is_over_host
from agentgym.sandbox.docker.entry import Entry, process_behind
from agentgym.sandbox.docker.hostname import HOSTNAME, MountedHostname
from agentgym.sandbox.docker.layer import reached, uncover
from agentgym.sandbox.docker.store import ImageStore
from agentgym.sandbox.hidden import hidden_folders
from agentgym.sandbox.layers.access import layers_bounded
from agentgym.sandbox.layers.removal import remove
from agentgym.sandbox.layers.size import check_copyable, empty_largest
from agentgym.sandbox.layers.size import size as size_of
from agentgym.sandbox.runtime import RUNTIME
from agentgym.sandbox.supervised import Supervised
from agentgym.sandbox.unlinked import sends_descriptors, unlinked_bytes
from agentgym.sandbox.watch import ended
from agentgym.threads import to_thread

_log = logging.getLogger(__name__)

_LAYER_BYTES = 16 << 30
_SLACK_BYTES = 1 << 20
# Longest time for a copy of all files of an ended guest, and how many bytes a shorter copy keeps.
_WHOLE_S = 180.0
_REDUCED_BYTES = 64 << 20
_START_S = 30.0
_END_S = 2.0
_CAUSE_S = 1.0


class DockerSandbox(Supervised):
    """A Sandbox. Made by DockerProvider; `boot` starts it.

    Args:
        store: Holds its image.
        recipe: Its recipe.
        start: Starts another sandbox (for forks).
        on_close: Called once, when every trace is removed.
        descends: Whether it starts from a snapshot: its files are then an agent's, and a copy of
            them has a limited number of names.
    """

    def __init__(
        self,
        store: ImageStore,
        recipe: Recipe,
        *,
        start: Callable[[Recipe, Snapshot], Awaitable[DockerSandbox]],
        on_close: Callable[[DockerSandbox], None],
        descends: bool,
    ) -> None:
        super().__init__(recipe)
        self._descends = descends
        self._store, self._start, self._on_close = store, start, on_close
        self._image = self._container = self._upper = ""
        self._room = store.new_room()
        self._hostname = MountedHostname(self._room / "hostname")
        # Host process id of PID 1; 0 if it is in another process namespace than this process.
        self._init = 0
        self._launching: asyncio.Future[None] | None = None
        self._memory: Path | None = None
        self._ending: asyncio.Future[None] | None = None
        self._is_lost = self._closed = False

    @property
    def id(self) -> str:
        """Name unique within this host."""
        return f"{self._store.owner}-{self._room.name}"

    # --- life ---

    async def boot(self, image: str) -> None:
        """Make a container from an image and start it."""
        self._store.hold(image)
        self._image = image
        self._ended_by, self._is_lost = "", False
        entry = Entry(self._room / "entry")
        try:
            self._launching = asyncio.ensure_future(to_thread(self._launch, entry))
            # A thread cannot be cancelled, so `close` waits for it and removes its container.
            await asyncio.shield(self._launching)
            sock = await entry.accept(_START_S, self._is_running)
        finally:
            entry.close()
        if sock is None:
            raise SandboxError(f"sandbox did not start: {await self._complaint()}")
        self._init = process_behind(sock)
        self._memory = memory_group(self._init) if self._init else None
        self._channel = await Channel.open(sock, self.id)
        try:
            async with asyncio.timeout(_START_S):
                await self._channel.hello()
        except (TimeoutError, SandboxDiedError):
            raise SandboxError(f"sandbox did not start: {await self._complaint()}") from None
        self._channel.on_close(self._lost)
        await self._furnish(self._store.disk)

    @reached()
    def _launch(self, entry: Entry) -> None:
        store, image = self._store, self._store.engine.image(self._image)
        below = list(image.folders)
        binds = [f"{path}:{path}:ro" for path in (host_folders() if is_over_host(image) else ())]
        if binds and (hidden := hidden_folders()):
            empty = self._room / "empty"
            empty.mkdir(mode=0o755, exist_ok=True)
            binds += [f"{empty}:{path}:ro" for path in hidden]
        binds += [f"{store.runtime.folder}:{RUNTIME}:ro", entry.bind]
        self._container, self._upper = store.engine.create(
            self._image,
            [*store.runtime.command(), *entry.arguments()],
            labels=store.labels,
            hostname=self.recipe.hostname,
            binds=binds + self._hostname.copy_from(below),
            limits=self.recipe.limits,
        )
        uncover(self._upper, below)
        store.engine.start(self._container)

    async def _is_running(self) -> bool:
        return await to_thread(self._store.engine.is_running, self._container)

    async def _complaint(self) -> str:
        text = await to_thread(self._store.engine.complaint, self._container)
        return text or "no reason given; see: agentgym doctor"

    def _written(self) -> int:
        # Holes count, because an image has no holes and a snapshot would fill them.
        size = size_of(self._upper, apparent=True) + self._hostname.size()
        # PID 1 may be in another process namespace.
        return size + (unlinked_bytes(self._init) if self._init else 0)

    async def _gone(self) -> None:
        if self._ending is not None:
            await asyncio.wait([self._ending])
        if self._init:
            await ended(self._init)

    def _left(self) -> int:
        return size_of(self._upper)

    def _empty(self, most: int) -> tuple[int, str]:
        return empty_largest(self._upper, most)

    def _hides(self) -> bool:
        return bool(self._init) and sends_descriptors(self._init)

    def _end(self, reason: str) -> None:
        """End the sandbox because it exceeded a limit that Docker does not watch."""
        self._ended_by = reason
        if self._channel is not None:
            # This makes the supervisor exit; if it does not, the daemon ends it.
            self._channel.close()
        self._ending = asyncio.ensure_future(self._kill())

    async def _kill(self) -> None:
        with contextlib.suppress(SandboxError):
            await to_thread(self._store.engine.end, self._container)

    async def _killed_for_memory(self) -> int | None:
        """Return how many processes the memory limit ended, or None if they are not counted."""
        count = kills(self._memory) if self._memory is not None else None
        if count is None and self._channel is not None and self._ended_by:
            # A container's group ends with its last process; the daemon keeps only a flag.
            engine, container = self._store.engine, self._container
            count = int(await to_thread(engine.was_killed_for_memory, container))
        return count

    async def _halt(self) -> None:
        """End every process inside and wait for their end; the files stay."""
        await self._hang_up()
        if self._init:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await ended(self._init)
                    return
        await to_thread(self._store.engine.end, self._container)

    async def _drop(self) -> None:
        """Remove the container with everything in it and release its image."""
        container, self._container = self._container, ""
        image, self._image = self._image, ""
        if container:
            await to_thread(self._store.engine.remove, container)
        if image:
            await to_thread(self._store.release, image)

    async def close(self) -> None:
        """End everything and remove every trace. It never raises and may be called twice."""
        if self._closed:
            return
        self._closed = True
        await asyncio.shield(asyncio.ensure_future(self._dispose()))

    async def _dispose(self) -> None:
        for pending in (self._launching, self._ending):
            if pending is not None:
                await asyncio.wait([pending])
        await self._hang_up()
        # If the daemon fails now, the provider removes the rest on its close or its next start.
        with contextlib.suppress(SandboxError):
            await self._drop()
        with contextlib.suppress(OSError):
            await to_thread(remove, str(self._room))
        self._on_close(self)

    async def usage(self) -> Usage:
        """Return the usage of resources and the mechanism of each limit."""
        header, _ = await self._ask("usage")
        limits = self.recipe.limits
        size = await to_thread(size_of, self._upper, apparent=True)
        mechanisms = {
            "pids": "docker",
            "memory_mb": "docker",
            "cpus": "docker",
            "disk_mb": "docker (each file) and watch",
            "wall_s": "timer",
            "output_bytes": "supervisor",
        }
        return Usage(
            cpu_s=header["cpu_s"],
            memory_mb=header["memory_bytes"] / 2**20,
            processes=header["processes"],
            disk_mb=size / 2**20,
            enforced={k: how for k, how in mechanisms.items() if getattr(limits, k) is not None},
        )

    # --- state ---

    async def snapshot(self) -> Snapshot:
        """Take a snapshot of the current files; processes continue."""
        return await carried_through(self._snapshot(), self._release)

    async def _release(self, snapshot: Snapshot) -> None:
        await to_thread(self._store.release, *snapshot.layers)

    async def _snapshot(self) -> Snapshot:
        # An image has no holes.
        async with self._store.disk.copying(lambda: size_of(self._upper, apparent=True)):
            async with self._frozen():
                finish = await self._freeze_aside(threading.Event(), self._limit_bytes)
            return await self._as_snapshot(finish)

    def _lost(self) -> None:
        self._is_lost = not self._ended_by
        super()._lost()

    async def _check_cause(self) -> None:
        """Wait for the cause of a lost supervisor to be known.

        Raises:
            SandboxDiedError: The daemon ended the container, which no guest can bring about.
        """
        if self._is_lost:
            # The event follows the end of the processes.
            await asyncio.sleep(_CAUSE_S)
            if self._store.watch.has_ended(self._container):
                raise SandboxDiedError(f"sandbox {self.id} is gone: the Docker daemon ended it")

    async def seal(self) -> Snapshot:
        """End everything inside, keep the files as a snapshot, and close."""
        await self._check_cause()
        await self._halt()
        if self._upper:
            await self._make_room(self._store.disk)
        try:
            async with asyncio.timeout(_WHOLE_S):
                snapshot = await self._copied(self._limit_bytes)
        except TimeoutError:
            # An agent may write more than this machine copies in time, above all in several
            # episodes at once. Without its largest files the episode can be judged.
            _log.warning(
                "warning: sandbox %s: its files were not copied within %g s", self.id, _WHOLE_S
            )
            snapshot = await self._copied(_REDUCED_BYTES)
        await self.close()
        return snapshot

    async def _copied(self, limit_bytes: int) -> Snapshot:
        """Return a snapshot of the ended guest's files; if cancelled, the copy ends soon."""
        stopped = threading.Event()
        try:
            finish = await self._freeze_aside(stopped, limit_bytes)
            return await carried_through(self._as_snapshot(finish), self._release)
        except asyncio.CancelledError:
            stopped.set()
            raise

    @property
    def _limit_bytes(self) -> int:
        """The allowed size of the files of a snapshot, holes included."""
        limit_mb = self.recipe.limits.disk_mb
        return _LAYER_BYTES if limit_mb is None else limit_mb * 2**20 + _SLACK_BYTES

    async def _freeze_aside(self, stopped: threading.Event, limit_bytes: int) -> Callable[[], str]:
        """Freeze in a thread, which ends soon after its waiter is cancelled."""
        try:
            return await to_thread(self._freeze, stopped, limit_bytes)
        except BaseException:
            stopped.set()
            raise

    @reached()
    def _freeze(self, stopped: threading.Event, limit_bytes: int) -> Callable[[], str]:
        if not self._container:
            raise SandboxDiedError(f"sandbox {self.id} is closed")

        if self._descends:
            with layers_bounded():
                check_copyable(self._upper)
        allowance = Allowance(limit_bytes, stopped.is_set)

        differs = self._hostname.difference(self._folders(self._image))
        extra = partial(self._hostname.add_to, allowance=allowance) if differs else None
        finish = self._store.freeze(self._image, self._upper, extra, allowance)
        if allowance.left_out:
            _log.warning(
                "warning: sandbox %s: its files hold more than %d MB, holes included; %d of them "
                "are kept empty, the first: %r",
                *(self.id, limit_bytes >> 20, len(allowance.left_out), allowance.left_out[0][:200]),
            )
        return finish

    async def _as_snapshot(self, finish: Callable[[], str]) -> Snapshot:
        image = await to_thread(finish)
        self._store.hold(image)
        return Snapshot("docker", (image,))

    async def fork(self) -> DockerSandbox:
        """Start another sandbox from the current files."""
        snapshot = await self.snapshot()
        try:
            return await self._start(self.recipe, snapshot)
        finally:
            await self._release(snapshot)

    async def restore(self, snapshot: Snapshot) -> None:
        """End everything inside and continue from an earlier snapshot."""
        if snapshot.provider != "docker":
            raise SandboxError(f"a snapshot of {snapshot.provider!r} cannot be restored here")
        (image,) = snapshot.layers
        await self._store.disk.wait_for_room()
        self._descends = True
        self._store.hold(image)
        try:
            await self._hang_up()
            await self._drop()
            await self.boot(image)
        finally:
            await to_thread(self._store.release, image)

    async def changes(self, since: Snapshot | None = None) -> Sequence[Change]:
        """List paths that differ from `since` (default: the snapshot it started from)."""
        (before,) = (self._image,) if since is None else since.layers
        return await carried_through(self._compared(before))

    async def _compared(self, before: str) -> list[Change]:
        # The tree reads by path: a moving guest could lead it out of the layers, or to a FIFO.
        async with self._frozen():
            return await to_thread(self._changes, before)

    async def _live_tree(self) -> FileTree:
        if not self._container:
            raise SandboxDiedError(f"sandbox {self.id} is closed")
        over = self._hostname.over()
        return await to_thread(self._store.tree, self._image, [self._upper], over)

    @reached()
    def _changes(self, before: str) -> list[Change]:
        if not self._container:
            raise SandboxDiedError(f"sandbox {self.id} is closed")
        found = self._store.changes(before, self._image, [self._upper])
        kind = self._hostname.difference(self._folders(before))
        if kind:
            found = [change for change in found if change.path != HOSTNAME]
            found.append(Change(HOSTNAME, ChangeKind(kind)))
        return sorted(found, key=lambda change: change.path)

    def _folders(self, image: str) -> list[str]:
        return list(self._store.engine.image(image).folders)
