"""The layer store of the host: layers, their owners and the leftovers of dead processes.

    <root>/runtime-<digest>/    the runtime of supervisors
    <root>/l/, <root>/kept/     layers that outlive processes (see `lasting_layers.py`)
    <root>/live/<owner>/        one folder per host process, flocked as long as it lives
        <n>/u, <n>/w            upper and work directory of one running sandbox
        s<n>/                   snapshot layers of this process only

The store removes folders of `live/` whose owner has ended (see `claim.py`). Layer names are paths
relative to the root; they are short, because one mount has up to 60 of them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from agentgym.claim import Claim, sweep
from agentgym.errors import SandboxError, SandboxLimitError
from agentgym.records import Bounds, Change, ChangeKind
from agentgym.sandbox.control_group import remove_abandoned_groups, remove_groups_of
from agentgym.sandbox.lasting_layers import LastingLayers
from agentgym.sandbox.layer_names import MAX_LAYERS, base_of, binds_of, layers_above
from agentgym.sandbox.layers.access import LayerAccess, layers_bounded
from agentgym.sandbox.layers.size import ENTRY_BYTES
from agentgym.sandbox.layers.stack import OPAQUE
from agentgym.sandbox.layers.tree import LayerTree
from agentgym.sandbox.runtime import find_runtime
from agentgym.sandbox.watch import DiskWatch


def check_mergeable(size: int, bounds: Bounds) -> None:
    """Check that layers may be merged to be archived: merging fills the holes of files.

    Raises:
        OSError: Their files, holes included, exceed the bounds.
    """
    if size > bounds.max_bytes + ENTRY_BYTES * bounds.max_entries:
        raise OSError(errno.EFBIG, f"its layers have {size} bytes, and forks made several of them")


class LayerStore:
    """The layers of this host for one process. Thread-safe.

    Args:
        root: Folder of the store.
        access: Runs operations on layers.
        owner: User id of the files.

    Attributes:
        root: Folder of the store.
        lasting: The layers that outlive the process.
        runtime: The runtime of the supervisors of its sandboxes.
        disk: Watches the disk use of its sandboxes.
    """

    def __init__(self, root: Path, access: LayerAccess, owner: int) -> None:
        self.root = root
        self._access, self._owner = access, owner
        self._lock = threading.Lock()
        self._count = 0
        self._references: Counter[str] = Counter()
        for name in ("l", "kept", "live"):
            folder = root / name
            folder.mkdir(parents=True, exist_ok=True)
            # Guests may leave set-id programs, so only the owner may reach their files.
            folder.chmod(0o700)
            if owner != os.getuid():
                os.chown(folder, owner, owner)
        sweep(root, self._remove_orphan)
        remove_abandoned_groups()
        self.runtime = find_runtime(root)
        self.disk = DiskWatch(str(root))
        self._claim = Claim(root)
        self._claim.note(self.runtime.layer.name)
        self._token = f"live/{self._claim.name}"
        self.lasting = LastingLayers(root, access, owner, self._claim, self._fresh)

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
            SandboxLimitError: A path is too long for the kernel.
            SandboxError: The disk is full.
        """
        layer = self._fresh("s")
        try:
            self._access.call("squash", self.paths(layers), str(self.root / layer))
        except OSError as error:
            with contextlib.suppress(OSError):
                self.remove(layer)
            # The guest goes to any depth step by step; the disk is the host's.
            kind = SandboxLimitError if error.errno == errno.ENAMETOOLONG else SandboxError
            raise kind(f"the sandbox's files cannot be copied: {error}") from error
        return layer

    def check_copyable(self, layer: str) -> None:
        """Check that a layer of a guest has few enough names to be copied.

        Raises:
            SandboxLimitError: It has more.
        """
        with layers_bounded():
            self._access.call("check_copyable", str(self.root / layer))

    def shallow(self, layers: tuple[str, ...]) -> tuple[str, ...]:
        """Return equivalent layers that are few enough for one mount."""
        if len(layers) <= MAX_LAYERS:
            return layers
        base = base_of(layers)
        return (self.copy(layers[: -len(base)]), *base)

    def changes(self, before: Sequence[str], after: Sequence[str]) -> list[Change]:
        """Return the changes of one stack of layers against another; there may be 100,000.

        Raises:
            SandboxLimitError: The changes exceed the budget of a comparison.
        """
        stacks = self.paths(before), self.paths(after)
        with layers_bounded():
            found: list[tuple[str, str]] = self._access.call("changes", *stacks, binds_of(after))
        return [Change(path, ChangeKind(kind)) for path, kind in found]

    def size(self, layer: str) -> int:
        """Return the bytes one layer occupies on disk."""
        size: int = self._access.call("size", str(self.root / layer))
        return size

    def empty(self, layer: str, most: int) -> tuple[int, str]:
        """Empty the largest files of one layer, see `layers.size.empty_largest`."""
        count, first = self._access.call("empty", str(self.root / layer), most)
        return count, first

    def save_delta(self, before: Sequence[str], after: Sequence[str], bounds: Bounds) -> bytes:
        """Return the difference of a stack to its base as an archive, see `delta_format`.

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

    def keep(self, key: str, layers: tuple[str, ...]) -> tuple[str, ...]:
        """Make layers outlive this process under a key; the first ones kept under a key win.

        Layers of this process are renamed, so the caller must use the returned names.
        """
        return self.lasting.keep(key, tuple(self._make_lasting(layer) for layer in layers))

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
            fresh = self.lasting.draft()
            self._access.call("squash", [str(self.path(layer))], str(fresh))
            self.lasting.adopt(fresh, lasting)
        return lasting

    def close(self) -> None:
        """Remove everything this process owns here."""
        self._claim.close(self._access.discard)

    def _remove_orphan(self, folder: Path) -> None:
        # It goes last, because its name identifies the control groups of a dead process.
        remove_groups_of(folder.name)
        self._access.discard(folder)
