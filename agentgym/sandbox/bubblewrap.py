"""The embedded sandbox provider: overlay layers, bubblewrap and the guest supervisor.

It needs no daemon and no privileges. A reset mounts an empty upper directory over sealed layers,
whatever their size; docs/architecture.md states the cost of a snapshot and a fork.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from agentgym import catalogue
from agentgym.errors import SandboxError, UnsupportedError
from agentgym.protocols import FileTree
from agentgym.records import Bounds, Capability, Change, Problem, Recipe, Snapshot
from agentgym.sandbox import launch
from agentgym.sandbox.fork_server import ForkServer
from agentgym.sandbox.guest import BubblewrapSandbox
from agentgym.sandbox.layer_names import base_of
from agentgym.sandbox.layers.access import LayerAccess
from agentgym.sandbox.rootimage import built, other_root, with_image, with_user
from agentgym.sandbox.store import LayerStore
from agentgym.threads import to_thread


class BubblewrapProvider:
    """Starts bubblewrap sandboxes. Making one does nothing; the first start opens the store.

    Args:
        root: Folder of the layers; default: below `agentgym.catalogue.cache_dir()`.
    """

    name = "bubblewrap"
    capabilities = frozenset(Capability)
    folder = "sandbox"

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._access = LayerAccess()
        self._store: LayerStore | None = None
        self._opening = asyncio.Lock()
        self._server: ForkServer | None = None
        self._serving = asyncio.Lock()
        self._open: set[BubblewrapSandbox] = set()

    def problems(self) -> Sequence[Problem]:
        """Return what this machine lacks to run the provider."""
        return launch.problems()

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> BubblewrapSandbox:
        """Start a sandbox, from a snapshot or from the recipe's own root."""
        store = await self._ready()
        await store.disk.wait_for_room()
        if store is not self._store:
            raise SandboxError("the provider was closed while the sandbox waited for its start")
        own = () if snapshot is None else self._own(snapshot)
        if own and not recipe.image:
            recipe, layers = self._prepare(recipe, own, store)
        else:
            # An image may have to be unpacked.
            recipe, layers = await to_thread(self._prepare, recipe, own, store)
        sandbox = BubblewrapSandbox(
            store,
            recipe,
            provider=self.name,
            isolated=Capability.ISOLATION in self.capabilities,
            forks=self._fork_server,
            start=self.start,
            on_close=self._open.discard,
            descends=snapshot is not None,
        )
        self._open.add(sandbox)
        try:
            await sandbox.boot(layers)
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    async def open_tree(self, snapshot: Snapshot) -> FileTree:
        """Open the files of a snapshot for reading, without running anything in it."""
        store = await self._ready()
        return store.tree(self._own(snapshot))

    async def compare(self, before: Snapshot, after: Snapshot) -> Sequence[Change]:
        """List what changed from one snapshot to another."""
        store = await self._ready()
        return await to_thread(store.changes, self._own(before), self._own(after))

    async def save_delta(self, before: Snapshot, after: Snapshot, bounds: Bounds) -> bytes:
        """Return the difference of a snapshot to the one it came from, as an archive."""
        store = await self._ready()
        base, layers = self._own(before), self._own(after)
        if layers == base:
            return b""
        try:
            return await to_thread(store.save_delta, base, layers, bounds)
        except OSError as error:
            raise SandboxError(error.strerror or str(error)) from error

    async def load_delta(self, before: Snapshot, data: bytes, bounds: Bounds) -> Snapshot:
        """Return the snapshot in an archive of `save_delta`; the caller discards it."""
        store = await self._ready()
        own = self._own(before)
        layer = await to_thread(store.load_delta, data, bounds) if data else None
        layers = own if layer is None else (layer, *own)
        store.hold(layers)
        return Snapshot(self.name, layers)

    async def find(self, key: str) -> Snapshot | None:
        """Return the snapshot that was kept under a key, if it is still whole."""
        store = await self._ready()
        layers = await to_thread(store.lasting.find_current, key)
        return None if layers is None else Snapshot(self.name, layers)

    async def keep(self, key: str, snapshot: Snapshot) -> Snapshot:
        """Make a snapshot outlive this process under a key; the first keeper wins."""
        store = await self._ready()
        layers = await to_thread(store.keep, key, self._own(snapshot))
        return Snapshot(self.name, layers)

    async def discard(self, snapshot: Snapshot) -> None:
        """Drop a snapshot that was not kept."""
        if self._store is not None and snapshot.provider == self.name:
            await to_thread(self._store.release, snapshot.layers)

    async def prune(self, keep: Collection[str]) -> int:
        """Drop kept snapshots and images not named in `keep` that no live process uses.

        Returns:
            How many bytes that freed.
        """
        store = await self._ready()
        return await to_thread(store.lasting.prune, keep)

    async def close(self) -> None:
        """Close every sandbox that is still open and drop what was not kept."""
        await asyncio.gather(*(sandbox.close() for sandbox in list(self._open)))
        server, self._server = self._server, None
        if server is not None:
            await server.close()
        store, self._store = self._store, None
        if store is not None:
            await to_thread(store.close)
        self._access.close()

    # --- private ---

    async def _ready(self) -> LayerStore:
        if self._store is None:
            async with self._opening:
                if self._store is None:
                    self._store = await to_thread(self._open_store)
        return self._store

    async def _fork_server(self) -> ForkServer:
        """Return the fork server; start it on the first call and again after its end."""
        store = await self._ready()
        async with self._serving:
            if self._server is not None and self._server.ended:
                await self._server.close()
                self._server = None
            if self._server is None:
                isolated = Capability.ISOLATION in self.capabilities
                self._server = await ForkServer.start(store.root, store.runtime, isolated=isolated)
            return self._server

    def _open_store(self) -> LayerStore:
        root = self._root or catalogue.cache_dir() / self.folder
        try:
            root.mkdir(parents=True, exist_ok=True)
            if launch.sandbox_owner() != os.getuid():
                # The sandbox owner looks up layers from here; parent folders stay closed to it.
                root.chmod(root.stat().st_mode | 0o011)
            return LayerStore(root, self._access, launch.sandbox_owner())
        except OSError as error:
            raise SandboxError(
                f"cannot keep sandbox layers in {root}: {error.strerror}; "
                "set AGENTGYM_CACHE to a folder you may write to"
            ) from error

    def _prepare(
        self, recipe: Recipe, own: tuple[str, ...], store: LayerStore
    ) -> tuple[Recipe, tuple[str, ...]]:
        """Return a recipe with the settings of its image, and the layers to start it from."""
        recipe = with_user(recipe)
        if recipe.user != "root" and not launch.may_give_ids():
            raise UnsupportedError(
                f"recipe {recipe.name!r} runs commands as {recipe.user!r}: with bubblewrap only "
                "root can give a sandbox more than one user id; run as root, or use docker"
            )
        if not recipe.image:
            return recipe, own or store.lasting.host_base()
        image = built(recipe)
        base = store.lasting.image_base(image)
        if own and base_of(own) != base:
            raise other_root(recipe)
        return with_image(recipe, image), own or base

    def _own(self, snapshot: Snapshot) -> tuple[str, ...]:
        if snapshot.provider != self.name:
            raise SandboxError(f"a snapshot of {snapshot.provider!r} cannot start in {self.name!r}")
        return snapshot.layers
