"""The Docker sandbox provider: containers over images that agentgym makes from guests' files.

It shares recipe, supervisor and layer reading with bubblewrap. The Docker daemon makes the
namespaces and enforces the limits. docs/architecture.md compares the costs.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from agentgym import catalogue
from agentgym.errors import AgentGymError, SandboxError
from agentgym.protocols import FileTree
from agentgym.records import Bounds, Capability, Change, Problem, Recipe, Snapshot
from agentgym.sandbox.docker.bases import is_over
from agentgym.sandbox.docker.engine import Engine, sdk_problems
from agentgym.sandbox.docker.guest import DockerSandbox
from agentgym.sandbox.docker.store import ImageStore
from agentgym.sandbox.launch import guest_problems
from agentgym.sandbox.rootimage import built, other_root, with_image, with_user
from agentgym.sandbox.runtime import problems as runtime_problems
from agentgym.threads import to_thread


class DockerProvider:
    """Starts Docker sandboxes. Making one does nothing; the first start connects.

    Args:
        root: Folder of its ownership records; default: below `agentgym.catalogue.cache_dir()`.
    """

    name = "docker"
    capabilities = frozenset(Capability)

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._store: ImageStore | None = None
        self._opening = asyncio.Lock()
        self._open: set[DockerSandbox] = set()
        self._placed: set[str] = set()

    def problems(self) -> Sequence[Problem]:
        """Return what this machine lacks to run the provider."""
        found = sdk_problems()
        if found:
            return found
        if os.geteuid() != 0:
            found.append(Problem("only root may read Docker's layers", "run as root"))
        found += [*guest_problems(), *runtime_problems()]
        try:
            engine = Engine()
        except AgentGymError as error:
            fix = "apt-get install -y docker.io; systemctl start docker (or: dockerd &)"
            return [*found, Problem(str(error), fix)]
        try:
            return [*found, *engine.problems()]
        finally:
            engine.close()

    async def place(self, recipe: Recipe) -> None:
        """Have the daemon load the image of a recipe, unless it has done so."""
        if recipe.image and recipe.image not in self._placed:
            store = await self._ready()
            await to_thread(self._prepare, recipe, None, store)
            self._placed.add(recipe.image)

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> DockerSandbox:
        """Start a sandbox, from a snapshot or from the recipe's own root."""
        store = await self._ready()
        await store.disk.wait_for_room()
        if store is not self._store:
            raise SandboxError("the provider was closed while the sandbox waited for its start")
        own = None if snapshot is None else self._own(snapshot)
        recipe, image = await to_thread(self._prepare, recipe, own, store)
        sandbox = DockerSandbox(
            *(store, recipe),
            start=self.start,
            on_close=self._open.discard,
            descends=snapshot is not None,
        )
        self._open.add(sandbox)
        try:
            await sandbox.boot(image)
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    async def open_tree(self, snapshot: Snapshot) -> FileTree:
        """Open the files of a snapshot for reading, without running anything in it."""
        store = await self._ready()
        return await to_thread(store.tree, self._own(snapshot))

    async def compare(self, before: Snapshot, after: Snapshot) -> Sequence[Change]:
        """List what changed between a snapshot and one that descends from it."""
        store = await self._ready()
        return await to_thread(store.changes, self._own(before), self._own(after))

    async def save_delta(self, before: Snapshot, after: Snapshot, bounds: Bounds) -> bytes:
        """Return the difference of a snapshot to the one it came from, as an archive."""
        store = await self._ready()
        try:
            return await to_thread(store.save_delta, self._own(before), self._own(after), bounds)
        except OSError as error:
            raise SandboxError(error.strerror or str(error)) from error

    async def load_delta(self, before: Snapshot, data: bytes, bounds: Bounds) -> Snapshot:
        """Return the snapshot in an archive of `save_delta`; the caller discards it."""
        store = await self._ready()
        own = self._own(before)
        image = await to_thread(store.load_delta, own, data, bounds)
        return Snapshot(self.name, (image,))

    async def find(self, key: str) -> Snapshot | None:
        """Return the snapshot that was kept under a key, if it is still whole."""
        store = await self._ready()
        image = await to_thread(store.named.find, key)
        return Snapshot(self.name, (image,)) if image is not None else None

    async def keep(self, key: str, snapshot: Snapshot) -> Snapshot:
        """Make a snapshot outlive this process under a key; the first keeper wins."""
        store = await self._ready()
        image = await to_thread(store.keep, key, self._own(snapshot))
        return Snapshot(self.name, (image,))

    async def discard(self, snapshot: Snapshot) -> None:
        """Drop a snapshot that was not kept."""
        if self._store is not None and snapshot.provider == self.name:
            try:
                await to_thread(self._store.release, *snapshot.layers)
            except SandboxError:
                # The daemon refuses for now; `close` of the provider tries again.
                return

    async def prune(self, keep: Collection[str]) -> int:
        """Drop kept snapshots and images not named in `keep` that no live process uses.

        Returns:
            How many bytes that freed.
        """
        store = await self._ready()
        return await to_thread(store.named.prune, keep)

    async def close(self) -> None:
        """Close every sandbox that is still open and drop what was not kept."""
        await asyncio.gather(*(sandbox.close() for sandbox in list(self._open)))
        store, self._store = self._store, None
        if store is not None:
            try:
                await to_thread(store.close)
            finally:
                store.engine.close()

    # --- private ---

    async def _ready(self) -> ImageStore:
        if self._store is None:
            async with self._opening:
                if self._store is None:
                    self._store = await to_thread(self._open_store)
        return self._store

    def _open_store(self) -> ImageStore:
        root = self._root or catalogue.cache_dir() / "docker"
        engine = Engine()
        try:
            root.mkdir(parents=True, exist_ok=True)
            return ImageStore(root, engine)
        except BaseException as error:
            engine.close()
            if isinstance(error, OSError):
                raise SandboxError(
                    f"cannot use {root} or Docker's layers: {error}; see: agentgym doctor"
                ) from error
            raise

    def _prepare(self, recipe: Recipe, own: str | None, store: ImageStore) -> tuple[Recipe, str]:
        """Return a recipe with the settings of its image, and the image to start it from."""
        recipe = with_user(recipe)
        if not recipe.image:
            return recipe, own or store.base()
        image = built(recipe)
        base = store.root(image)
        if own is not None and not is_over(store.engine, own, base):
            raise other_root(recipe)
        return with_image(recipe, image), own or base

    def _own(self, snapshot: Snapshot) -> str:
        if snapshot.provider != self.name:
            raise SandboxError(f"a snapshot of {snapshot.provider!r} cannot start in {self.name!r}")
        (image,) = snapshot.layers
        return image
