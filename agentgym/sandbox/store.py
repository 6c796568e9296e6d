"""The layer store of the host: layers, their owners and the leftovers of dead processes.

    <root>/runtime-<digest>/    the runtime of supervisors
    <root>/l/<name>/            layers that outlive processes: bases and kept snapshots
    <root>/kept/<digest>.json   key of a kept snapshot to its layers
    <root>/live/<owner>/        one folder per host process, flocked as long as it lives
        <n>/u, <n>/w            upper and work directory of one running sandbox
        s<n>/                   snapshot layers of this process only

The store removes folders of `live/` whose owner has ended (see `claim.py`). Layer names are paths
relative to the root; they are short, because one mount has up to 60 of them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import stat
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from agentgym.errors import SandboxError
from agentgym.records import Bounds
from agentgym.sandbox.access import LayerAccess, layers_bounded
from agentgym.sandbox.claim import Claim, noted, sweep
from agentgym.sandbox.control_group import remove_abandoned_groups, remove_groups_of
from agentgym.sandbox.hostroot import (
    build_foundation,
    build_host_layer,
    foundation_name,
    host_layer_name,
)
from agentgym.sandbox.images import Image, all_images
from agentgym.sandbox.layer_size import ENTRY_BYTES
from agentgym.sandbox.layer_size import size as size_of
from agentgym.sandbox.layer_stack import OPAQUE
from agentgym.sandbox.removal import remove
from agentgym.sandbox.runtime import find_runtime, remove_old_runtimes
from agentgym.sandbox.tree import LayerTree
from agentgym.sandbox.unpack import unpack
from agentgym.sandbox.watch import DiskWatch

# A mount accepts about 64 layers.
MAX_LAYERS = 60
# Host folders that a guest sees below its layers if its root is the host's.
BINDS = {"/usr": "/usr"}
# Images with more layers are merged into one, so that snapshots have enough left.
_MAX_IMAGE_LAYERS = 40
_HOST, _IMAGE, _FOUNDATION = "l/host-", "l/img-", "l/root-"


def _read_kept(entry: Path) -> tuple[str, ...]:
    """Return the layers of a kept snapshot; empty if the entry is absent or damaged."""
    try:
        return tuple(json.loads(entry.read_text())["layers"])
    except (FileNotFoundError, ValueError, KeyError):
        return ()


def base_of(layers: Sequence[str]) -> tuple[str, ...]:
    """Return the base layers of a stack, which no sandbox wrote."""
    first = len(layers)
    while first and layers[first - 1].startswith((_HOST, _IMAGE, _FOUNDATION)):
        first -= 1
    return tuple(layers[first:])


def binds_of(layers: Sequence[str]) -> dict[str, str]:
    """Return the binds visible below a stack of layers: guest to host directory."""
    return BINDS if layers[-1].startswith(_HOST) else {}


def image_layers(image: Image) -> tuple[str, ...]:
    """Return the store's names of an image's layers, topmost first, present or not."""
    names = [layer.diff_id.rpartition(":")[2] for layer in reversed(image.layers)]
    if len(names) > _MAX_IMAGE_LAYERS:
        names = [hashlib.sha256(" ".join(names).encode()).hexdigest()]
    return (*(f"{_IMAGE}{name[:16]}" for name in names), f"l/{foundation_name()}")


def layers_above(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """Return the layers that a stack adds to another, topmost first; several after forks.

    Raises:
        SandboxError: The stack does not contain the other.
    """
    added = len(after) - len(before)
    if added < 0 or tuple(after[added:]) != tuple(before):
        raise SandboxError("it does not build on the layers that the setup left")
    return tuple(after[:added])


def check_mergeable(size: int, bounds: Bounds) -> None:
    """Check that layers may be merged to be archived: merging fills the holes of files.

    Raises:
        OSError: Their files, holes included, exceed the bounds.
    """
    if size > bounds.max_bytes + ENTRY_BYTES * bounds.max_entries:
        raise OSError(errno.EFBIG, f"its layers have {size} bytes, and forks made several of them")


class LayerStore:
    """The layers of this host for one process. Thread-safe."""

    def __init__(self, root: Path, access: LayerAccess, owner: int) -> None:
        self.root = root
        self._access, self._owner = access, owner
        self._lock = threading.Lock()
        self._count = 0
        self._references: Counter[str] = Counter()
        self._notes: set[str] = set()
        for name in ("l", "kept", "live"):
            folder = root / name
            folder.mkdir(parents=True, exist_ok=True)
            # Guests may leave set-id programs, so only the owner may reach their files.
            folder.chmod(0o700)
            if owner != os.getuid():
                os.chown(folder, owner, owner)
        sweep(root, self._remove_orphan)
        remove_abandoned_groups()
        for leftover in (root / "l").glob(".new-*"):
            if not Path("/proc", leftover.name.split("-")[1]).exists():
                self._remove(leftover)
        # The runtime of the supervisors of its sandboxes.
        self.runtime = find_runtime(root)
        self.disk = DiskWatch(str(root))
        self._claim = Claim(root)
        self._claim.note(self.runtime.layer.name)
        self._token = f"live/{self._claim.name}"

    def path(self, layer: str) -> Path:
        """Return the path of a layer."""
        return self.root / layer

    def paths(self, layers: Iterable[str]) -> list[str]:
        """Return the paths of layers, in the same order."""
        return [str(self.root / layer) for layer in layers]

    def _fresh(self, prefix: str) -> str:
        with self._lock:
            self._count += 1
            return f"{self._token}/{prefix}{self._count}"

    def new_upper(self) -> str:
        """Make the upper and work directory of one sandbox and return their parent."""
        name = self._fresh("")
        for part in ("", "u", "w"):
            folder = self.root / name / part
            folder.mkdir(mode=0o755)
            if self._owner != os.getuid():
                os.chown(folder, self._owner, self._owner)
        return name

    def seal(self, upper: str) -> str:
        """Turn the upper directory of an ended sandbox into a layer; copies nothing."""
        layer = self._fresh("s")
        source, target = self.root / upper / "u", self.root / layer
        mode = stat.S_IMODE(source.stat().st_mode)
        # A guest may remove all permissions of its root, and an ordinary user cannot move that.
        source.chmod(mode | 0o700)
        os.rename(source, target)
        target.chmod(mode)
        return layer

    def copy(self, layers: Iterable[str]) -> str:
        """Merge layers (topmost first, an upper directory counts) into one new layer.

        Raises:
            SandboxError: The disk is full, or a path is too long for the kernel.
        """
        layer = self._fresh("s")
        try:
            self._access.call("squash", self.paths(layers), str(self.root / layer))
        except OSError as error:
            with contextlib.suppress(OSError):
                self.remove(layer)
            raise SandboxError(f"the sandbox's files cannot be copied: {error}") from error
        return layer

    def shallow(self, layers: tuple[str, ...]) -> tuple[str, ...]:
        """Return equivalent layers that are few enough for one mount."""
        if len(layers) <= MAX_LAYERS:
            return layers
        base = base_of(layers)
        return (self.copy(layers[: -len(base)]), *base)

    def changes(self, before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
        """Return (path, kind of change) of one stack of layers against another.

        Raises:
            SandboxLimitError: The changes exceed the budget of a comparison.
        """
        stacks = self.paths(before), self.paths(after)
        with layers_bounded():
            found: list[tuple[str, str]] = self._access.call("changes", *stacks, binds_of(after))
        return found

    def size(self, layer: str) -> int:
        """Return the bytes one layer occupies on disk."""
        size: int = self._access.call("size", str(self.root / layer))
        return size

    def save_delta(self, before: Sequence[str], after: Sequence[str], bounds: Bounds) -> bytes:
        """Return the difference of a stack to its base as an archive (see `delta.py`).

        Raises:
            OSError: The archive exceeds the bounds.
            SandboxError: The stacks are not base and descendant.
        """
        above = layers_above(before, after)
        if not above:
            return b""
        if len(above) > 1:
            sizes = [self._access.call("size", path, True) for path in self.paths(above)]
            check_mergeable(sum(sizes), bounds)
            merged = self.copy(above)
            try:
                return self._save_layer(merged, bounds)
            finally:
                self.remove(merged)
        return self._save_layer(above[0], bounds)

    def _save_layer(self, layer: str, bounds: Bounds) -> bytes:
        archive = self.root / self._fresh("a")
        try:
            first_id = self._owner if self._owner != os.getuid() else 0
            self._access.call(
                *("pack", str(self.root / layer), str(archive), OPAQUE, first_id),
                *(bounds.max_bytes, bounds.max_entries),
            )
            return archive.read_bytes()
        finally:
            archive.unlink(missing_ok=True)

    def load_delta(self, data: bytes, bounds: Bounds) -> str:
        """Return a new layer with the content of an archive.

        Raises:
            SandboxError: The archive is damaged or holds too much.
        """
        layer, archive = self._fresh("s"), self.root / self._fresh("a")
        try:
            archive.write_bytes(data)
            first_id = self._owner if self._owner != os.getuid() else None
            self._access.call(
                *("unpack", str(archive), str(self.root / layer), OPAQUE, first_id),
                *(bounds.max_bytes, bounds.max_entries),
            )
        except OSError as error:
            with contextlib.suppress(OSError):
                self.remove(layer)
            raise SandboxError(f"a kept state cannot be unpacked: {error.strerror}") from error
        finally:
            archive.unlink(missing_ok=True)
        return layer

    def is_empty(self, layer: str) -> bool:
        """Return whether a layer has no content."""
        try:
            with os.scandir(self.root / layer) as entries:
                return next(entries, None) is None
        except PermissionError:
            # A guest has removed all permissions of its root.
            return False

    def tree(self, layers: Sequence[str]) -> LayerTree:
        """Return the files of a stack of layers."""
        return LayerTree(self._access, self.paths(layers), binds_of(layers))

    def remove(self, name: str) -> None:
        """Remove a folder of this process."""
        self._access.call("remove", str(self.root / name))

    def hold(self, layers: Iterable[str]) -> None:
        """Count one more user of the layers."""
        with self._lock:
            self._references.update(layers)

    def release(self, layers: Iterable[str]) -> None:
        """Count one user less, and remove unused layers that belong to this process alone."""
        unused = []
        with self._lock:
            for layer in layers:
                self._references[layer] -= 1
                if self._references[layer] <= 0:
                    del self._references[layer]
                    if layer.startswith(self._token):
                        unused.append(layer)
        for layer in unused:
            self.remove(layer)

    # --- layers that outlive the process ---

    def host_base(self) -> tuple[str, ...]:
        """Return the lowest layers of sandboxes whose root is the host's."""
        base = (f"l/{host_layer_name()}",)
        while not self._noted(base):
            self._make(base[0], lambda path: build_host_layer(path, self._owner))
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
        parts = [self.root / f"{self._fresh('m')}" for _ in image.layers]
        try:
            for part, layer in zip(parts, image.layers, strict=True):
                unpack(layer, part, first_id)
            self._access.call("squash", [str(part) for part in parts[::-1]], str(target))
        finally:
            for part in parts:
                self._remove(part)

    def _make(self, layer: str, build: Callable[[Path], None]) -> None:
        """Build a layer with `build(folder)` if it is missing."""
        with self._locked("build.lock"):
            if (self.root / layer).is_dir():
                return
            fresh = self._draft()
            try:
                build(fresh)
                os.rename(fresh, self.root / layer)
            except BaseException:
                self._remove(fresh)
                raise

    def _draft(self) -> Path:
        return self.root / "l" / f".new-{os.getpid()}-{secrets.token_hex(3)}"

    def _noted(self, layers: Iterable[str]) -> bool:
        """Protect layers from pruning while this process lives; return False if one is gone."""
        with self._lock:
            unknown = [layer for layer in layers if layer not in self._notes]
        if not unknown:
            return True
        with self._locked("prune.lock", fcntl.LOCK_SH):
            for layer in unknown:
                self._claim.note(layer.removeprefix("l/"))
            whole = all((self.root / layer).is_dir() for layer in unknown)
        if whole:
            with self._lock:
                self._notes.update(unknown)
        return whole

    @contextlib.contextmanager
    def _locked(self, name: str, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
        with open(self.root / name, "wb") as lock:
            fcntl.flock(lock, kind)
            yield

    def is_current(self, layers: Sequence[str]) -> bool:
        """Return whether a stack has a current base: this host's or a current image."""
        base = base_of(layers)
        if binds_of(layers):
            return base == self.host_base()
        return any(base == image_layers(image) for image in all_images())

    def _adopt(self, folder: Path, layer: str) -> None:
        try:
            os.rename(folder, self.root / layer)
        except OSError:
            # Another process was faster; its layer is equal, because names determine the content.
            if not (self.root / layer).is_dir():
                raise
            self._access.call("remove", str(folder))

    def find(self, key: str) -> tuple[str, ...] | None:
        """Return the layers kept under a key, if all of them are still there."""
        layers = _read_kept(self._kept(key))
        return layers if layers and self._noted(layers) else None

    def find_current(self, key: str) -> tuple[str, ...] | None:
        """Return the layers kept under a key, if they still exist over a current base."""
        layers = self.find(key)
        return layers if layers is not None and self.is_current(layers) else None

    def keep(self, key: str, layers: tuple[str, ...]) -> tuple[str, ...]:
        """Make layers outlive this process under a key; the first ones kept under a key win.

        Layers of this process are renamed, so the caller must use the returned names.
        """
        kept = tuple(self._make_lasting(layer) for layer in layers)
        entry = self._kept(key)
        draft = entry.with_name(f".{entry.name}-{secrets.token_hex(3)}")
        draft.write_text(json.dumps({"key": key, "layers": kept}))
        try:
            os.link(draft, entry)
        except FileExistsError:
            earlier = self.find(key)
            # The same layers over another base are a different state.
            if earlier is not None and base_of(earlier) == base_of(kept):
                return earlier
            os.replace(draft, entry)
        finally:
            draft.unlink(missing_ok=True)
        self._noted(kept)
        return kept

    def _make_lasting(self, layer: str) -> str:
        if not layer.startswith(self._token):
            return layer
        lasting = f"l/{secrets.token_hex(6)}"
        with self._lock:
            alone = self._references[layer] <= 1
        if alone:
            os.rename(self.root / layer, self.root / lasting)
            with self._lock:
                del self._references[layer]
        else:
            fresh = self._draft()
            self._access.call("squash", [str(self.path(layer))], str(fresh))
            self._adopt(fresh, lasting)
        return lasting

    def prune(self, keep: Collection[str]) -> int:
        """Drop kept snapshots and images that are not named and that no live process uses.

        Args:
            keep: Keys of snapshots and names of images.

        Returns:
            How many bytes that freed.
        """
        freed = 0
        with self._locked("prune.lock"):
            needed = {f"l/{name}" for name in noted(self.root)}
            needed.add(f"l/{host_layer_name()}")
            for image in all_images():
                if image.name in keep:
                    needed.update(image_layers(image))
            kept = {self._kept(key) for key in keep}
            for entry in (self.root / "kept").glob("[!.]*.json"):
                layers = _read_kept(entry)
                if entry in kept or needed.intersection(layers).difference(base_of(layers)):
                    needed.update(layers)
                else:
                    entry.unlink()
            for name in [f"l/{path.name}" for path in (self.root / "l").glob("[!.]*")]:
                if name not in needed:
                    freed += self.size(name)
                    # The rename makes the removal atomic, however this process ends.
                    doomed = self._draft()
                    os.rename(self.root / name, doomed)
                    self._remove(doomed)
            for runtime in self.root.glob("runtime-*"):
                if f"l/{runtime.name}" not in needed:
                    freed += size_of(str(runtime))
                    remove(str(runtime))
        return freed + remove_old_runtimes()

    def _kept(self, key: str) -> Path:
        return self.root / "kept" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"

    def close(self) -> None:
        """Remove everything this process owns here."""
        self._claim.close(self._remove)

    def _remove_orphan(self, folder: Path) -> None:
        # It goes last, because its name identifies the control groups of a dead process.
        remove_groups_of(folder.name)
        self._remove(folder)

    def _remove(self, folder: Path) -> None:
        # The next process removes what stays; a failure must not stop this one.
        with contextlib.suppress(OSError):
            self._access.call("remove", str(folder))
