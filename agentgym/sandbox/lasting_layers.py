"""Layers that outlive the process: bases of sandboxes and kept snapshots.

    <root>/l/<name>/            the layers; a name that begins with a dot is not finished yet
    <root>/kept/<digest>.json   key of a kept snapshot to its layers

A live process notes the layers that it uses (see `claim.py`), and no process prunes these.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path

from agentgym.claim import Claim, locked, noted
from agentgym.sandbox.hostroot import build_foundation, host_layer_name
from agentgym.sandbox.images import Image, all_images, images_stamp
from agentgym.sandbox.layer_names import base_of, binds_of, image_layers
from agentgym.sandbox.layers.access import LayerAccess
from agentgym.sandbox.layers.removal import remove
from agentgym.sandbox.layers.size import size
from agentgym.sandbox.runtime import remove_old_runtimes
from agentgym.sandbox.shared_base import link_host_layer, remove_old_host_layers
from agentgym.sandbox.unpack import unpack


class LastingLayers:
    """The lasting layers of a store. Thread-safe.

    Args:
        root: Folder of the store.
        access: Runs operations on layers.
        owner: User id of the files.
        claim: The folder of this process, in which it notes what it uses.
        fresh: Returns a new name in that folder, with a prefix.
    """

    def __init__(
        self,
        root: Path,
        access: LayerAccess,
        owner: int,
        claim: Claim,
        fresh: Callable[[str], str],
    ) -> None:
        self._root, self._access, self._owner = root, access, owner
        self._claim, self._fresh = claim, fresh
        self._lock = threading.Lock()
        self._notes: set[str] = set()
        self._bases: tuple[tuple[int, ...], frozenset[tuple[str, ...]]] = ((), frozenset())
        for leftover in (root / "l").glob(".new-*"):
            if not Path("/proc", leftover.name.split("-")[1]).exists():
                access.discard(leftover)

    def host_base(self) -> tuple[str, ...]:
        """Return the lowest layers of sandboxes whose root is the host's."""
        base = (f"l/{host_layer_name()}",)
        while not self._noted(base):
            self._make(base[0], lambda path: link_host_layer(path, self._owner))
        return base

    def image_base(self, image: Image) -> tuple[str, ...]:
        """Return the layers of an image, topmost first; each is unpacked once."""
        # Root can give a guest many user ids; any other user has only one to give.
        first_id = self._owner if self._owner != os.getuid() else None
        base = image_layers(image)
        while not self._noted(base):
            foundation, *names = base[::-1]
            self._make(foundation, lambda path: build_foundation(path, self._owner))
            if len(names) != len(image.layers):
                self._make(names[0], lambda path: self._merge(image, path, first_id))
                continue
            for name, layer in zip(names, image.layers, strict=True):
                self._make(name, partial(unpack, layer, first_id=first_id))
        return base

    def _merge(self, image: Image, target: Path, first_id: int | None) -> None:
        """Unpack an image of many layers into one."""
        parts = [self._root / self._fresh("m") for _ in image.layers]
        try:
            for part, layer in zip(parts, image.layers, strict=True):
                unpack(layer, part, first_id)
            self._access.call("squash", [str(part) for part in parts[::-1]], str(target))
        finally:
            for part in parts:
                self._access.discard(part)

    def _make(self, layer: str, build: Callable[[Path], None]) -> None:
        """Build a layer with `build(folder)` if it is missing."""
        with locked(self._root, "build.lock"):
            if (self._root / layer).is_dir():
                return
            fresh = self.draft()
            try:
                build(fresh)
                os.rename(fresh, self._root / layer)
            except BaseException:
                self._access.discard(fresh)
                raise

    def draft(self) -> Path:
        """Return the path of a new layer that is not finished yet."""
        return self._root / "l" / f".new-{os.getpid()}-{secrets.token_hex(3)}"

    def _noted(self, layers: Iterable[str]) -> bool:
        """Protect layers from pruning while this process lives; return False if one is gone."""
        with self._lock:
            unknown = [layer for layer in layers if layer not in self._notes]
        if not unknown:
            return True
        with locked(self._root, "prune.lock", fcntl.LOCK_SH):
            for layer in unknown:
                self._claim.note(layer.removeprefix("l/"))
            whole = all((self._root / layer).is_dir() for layer in unknown)
        if whole:
            with self._lock:
                self._notes.update(unknown)
        return whole

    def is_current(self, layers: Sequence[str]) -> bool:
        """Return whether a stack has a current base: this host's or a current image."""
        base = base_of(layers)
        if binds_of(layers):
            return base == self.host_base()
        stamp = images_stamp()
        known, bases = self._bases
        if stamp != known:
            # There may be hundreds, each in files of its own, and every reset asks.
            bases = frozenset(image_layers(image) for image in all_images())
            self._bases = stamp, bases
        return base in bases

    def adopt(self, folder: Path, layer: str) -> None:
        """Give a finished draft its name."""
        try:
            os.rename(folder, self._root / layer)
        except OSError:
            # Another process was faster; its layer is equal, because names determine the content.
            if not (self._root / layer).is_dir():
                raise
            self._access.call("remove", str(folder))

    def find(self, key: str) -> tuple[str, ...] | None:
        """Return the layers kept under a key, if all of them are still there."""
        layers = _read_kept(self._entry(key))
        return layers if layers and self._noted(layers) else None

    def find_current(self, key: str) -> tuple[str, ...] | None:
        """Return the layers kept under a key, if they still exist over a current base."""
        layers = self.find(key)
        return layers if layers is not None and self.is_current(layers) else None

    def keep(self, key: str, layers: tuple[str, ...]) -> tuple[str, ...]:
        """Put lasting layers under a key; the first ones kept under a key win.

        Returns:
            The layers that are kept under the key.
        """
        entry = self._entry(key)
        draft = entry.with_name(f".{entry.name}-{secrets.token_hex(3)}")
        draft.write_text(json.dumps({"key": key, "layers": layers}))
        try:
            os.link(draft, entry)
        except FileExistsError:
            earlier = self.find(key)
            # The same layers over another base are a different state.
            if earlier is not None and base_of(earlier) == base_of(layers):
                return earlier
            os.replace(draft, entry)
        finally:
            draft.unlink(missing_ok=True)
        self._noted(layers)
        return layers

    def prune(self, keep: Collection[str]) -> int:
        """Drop kept snapshots and images that are not named and that no live process uses.

        Args:
            keep: Keys of snapshots and names of images.

        Returns:
            How many bytes that freed.
        """
        freed = 0
        with locked(self._root, "prune.lock"):
            needed = {f"l/{name}" for name in noted(self._root)}
            needed.add(f"l/{host_layer_name()}")
            for image in all_images():
                if image.name in keep:
                    needed.update(image_layers(image))
            kept = {self._entry(key) for key in keep}
            for entry in (self._root / "kept").glob("[!.]*.json"):
                layers = _read_kept(entry)
                if entry in kept or needed.intersection(layers).difference(base_of(layers)):
                    needed.update(layers)
                else:
                    entry.unlink()
            for name in [f"l/{path.name}" for path in (self._root / "l").glob("[!.]*")]:
                if name not in needed:
                    freed += self._access.call("size", str(self._root / name))
                    # The rename makes the removal atomic, however this process ends.
                    doomed = self.draft()
                    os.rename(self._root / name, doomed)
                    self._access.discard(doomed)
            for runtime in self._root.glob("runtime-*"):
                if f"l/{runtime.name}" not in needed:
                    freed += size(str(runtime))
                    remove(str(runtime))
        return freed + remove_old_runtimes() + remove_old_host_layers()

    def _entry(self, key: str) -> Path:
        return self._root / "kept" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"


def _read_kept(entry: Path) -> tuple[str, ...]:
    """Return the layers of a kept snapshot; empty if the entry is absent or damaged."""
    try:
        return tuple(json.loads(entry.read_text())["layers"])
    except (FileNotFoundError, ValueError, KeyError):
        return ()
