"""Snapshots as Docker images: their owners, and the leftovers of dead processes.

    <root>/made/                 names of images that outlive processes (see `names.py`)
    <root>/live/<owner>/         one folder per host process (see `claim.py`); its name is the
                                 label `agentgym.owner` of its containers and images

The label `agentgym.store` is the digest of the root, so stores do not see each other's images.
Images without a name belong to the process that made them and are removed with it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import secrets
import tarfile
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO

from agentgym.claim import Claim, locked, sweep
from agentgym.errors import SandboxError
from agentgym.records import Bounds, Change, ChangeKind
from agentgym.sandbox.docker.allowance import Allowance, Watched
from agentgym.sandbox.docker.bases import (
    BASE,
    DEPTH,
    base_labels,
    binds_of,
    build_host,
    build_root,
    host_name,
    root_name,
)
from agentgym.sandbox.docker.engine import OWNER, Engine
from agentgym.sandbox.docker.layer import is_untouched, pack, reached, write_image
from agentgym.sandbox.docker.names import FOLDER, NamedImages, place_of, remove_owners
from agentgym.sandbox.images import Image as BuiltImage
from agentgym.sandbox.layer_names import MAX_LAYERS, layers_above
from agentgym.sandbox.layers import delta_packing, delta_unpacking
from agentgym.sandbox.layers.access import LayerAccess, layers_bounded
from agentgym.sandbox.layers.changes import changes
from agentgym.sandbox.layers.merging import squash
from agentgym.sandbox.layers.removal import remove
from agentgym.sandbox.layers.size import size
from agentgym.sandbox.layers.stack import NESTED, OPAQUE, TRUSTED_OPAQUE
from agentgym.sandbox.layers.tree import LayerTree
from agentgym.sandbox.runtime import find_runtime
from agentgym.sandbox.store import check_mergeable
from agentgym.sandbox.watch import DiskWatch

_log = logging.getLogger(__name__)
_STORE = "agentgym.store"
_SNAPSHOT = "agentgym.snapshot"
_TOO_DEEP = "agentgym.too-deep"


class ImageStore:
    """The images of this daemon for one process. Thread-safe; every method blocks.

    Args:
        root: Folder of the store.
        engine: The daemon.

    Attributes:
        engine: The daemon.
        named: The images that outlive the process.
        runtime: The runtime of the supervisors of its sandboxes.
        disk: Watches the disk use of its sandboxes.
        labels: Labels of everything that this process makes.
        watch: Tells which of its containers the daemon ended.
    """

    def __init__(self, root: Path, engine: Engine) -> None:
        self.engine = engine
        self._root = root
        (root / "live").mkdir(parents=True, exist_ok=True)
        sweep(root, self._clear_orphan)
        store = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]
        self._clear_late(f"{_STORE}={store}")
        self.runtime = find_runtime(root)
        self.disk = DiskWatch(engine.folder())
        self.watch = engine.watch(f"{_STORE}={store}")
        # Last, because the caller cannot close a store whose constructor failed.
        self._claim = Claim(root)
        self.named = NamedImages(root, engine, self._claim, store)
        self.labels = {_STORE: store, OWNER: self.owner, FOLDER: place_of(root)}
        self._lock = threading.Lock()
        self._count = 0
        self._references: Counter[str] = Counter()
        self._own: set[str] = set()

    @property
    def owner(self) -> str:
        """Name of this process, unique on this host."""
        return self._claim.name

    def _clear(self, folder: Path) -> None:
        self.engine.remove_all_of(folder.name)
        remove(str(folder))

    def _clear_orphan(self, folder: Path) -> None:
        # The next process removes what stays; a failure must not stop this one.
        with contextlib.suppress(SandboxError, OSError):
            self._clear(folder)

    def _clear_late(self, label: str) -> None:
        """Remove what the daemon finished for a process after the sweep of that process."""
        with locked(self._root, "late.lock"):
            # In this order, because a process that begins meanwhile makes its folder first.
            owners = self.engine.owners(label)
            alive = {folder.name for folder in (self._root / "live").iterdir()}
            remove_owners(self.engine, owners.keys() - alive)

    def new_room(self) -> Path:
        """Make a private folder of one sandbox."""
        with self._lock:
            self._count += 1
            room = self._claim.path / str(self._count)
        room.mkdir(mode=0o700)
        return room

    # --- making images ---

    def base(self) -> str:
        """Return the image of the `host` recipe; make it if it is missing."""
        return self._base(host_name(), build_host)

    def root(self, image: BuiltImage) -> str:
        """Return the image of a built recipe; make it if it is missing."""
        return self._base(root_name(image), partial(build_root, image))

    def _base(self, name: str, build: Callable[[Path], list[str]]) -> str:
        """Return the image with a name; make it if it is missing.

        Args:
            name: Repository and tag; it changes with every input of the image.
            build: Makes the directories of its layers, lowest first, in a given folder.
        """
        found = self.named.with_name(name)
        if found is not None:
            return found.id
        with locked(self._root, "base.lock"):
            found = self.named.with_name(name)
            if found is not None:
                return found.id
            room = self.new_room()
            try:
                fillers = [partial(pack, folder, opaque=OPAQUE) for folder in build(room)]
                labels = {BASE: name, DEPTH: str(len(fillers))}
                made = self._load([], fillers, labels)
            finally:
                remove(str(room))
            self.named.give_name(made, name)
            return made

    def freeze(
        self,
        parent: str,
        upper: str,
        extra: Callable[[tarfile.TarFile], None] | None,
        allowance: Allowance | None = None,
    ) -> Callable[[], str]:
        """Copy an upper directory; return a function that makes an image of it and returns its id.

        There are two steps, because a guest must stand still only during the first.

        Args:
            parent: The image that the container was made from.
            upper: The container's upper directory.
            extra: Writes files of the layer that are not in the directory.
            allowance: Limit for the size of the files; None: no limit.

        Raises:
            SandboxError: The caller has given up the layer.
        """
        image = self.engine.image(parent)
        if extra is None and is_untouched(upper, image.folders):
            return lambda: parent

        labels = base_labels(image)
        if allowance is not None:
            allowance.measure(upper)
            labels = {**labels, **({_TOO_DEEP: "yes"} if allowance.too_deep else {})}

        def write(archive: tarfile.TarFile) -> None:
            pack(upper, archive, allowance=allowance)
            if extra is not None:
                extra(archive)

        file, made = self._write(image.diff_ids, [write], labels)

        @reached()
        def finish() -> str:
            with file:
                self.engine.load(file if allowance is None else Watched(file, allowance))
            return self._shallow(made)

        return finish

    def _shallow(self, deep: str) -> str:
        """Return an image with the same files and few enough layers for one mount."""
        image = self.engine.image(deep)
        if len(image.folders) <= MAX_LAYERS:
            return deep
        room = self.new_room()
        merged = str(room / "merged")
        depth = int(image.labels[DEPTH])
        squash(list(image.folders[:-depth]), merged, TRUSTED_OPAQUE)
        flat = self._load(
            image.diff_ids[:depth],
            [partial(pack, merged)],
            base_labels(image),
        )
        remove(str(room))
        with self._lock:
            self._own.discard(deep)
        self.engine.remove_image(deep)
        return flat

    def _load(
        self,
        parents: Sequence[str],
        fillers: Sequence[Callable[[tarfile.TarFile], None]],
        labels: dict[str, str],
    ) -> str:
        file, made = self._write(parents, fillers, labels)
        with file:
            self.engine.load(file)
        return made

    def _write(
        self,
        parents: Sequence[str],
        fillers: Sequence[Callable[[tarfile.TarFile], None]],
        labels: dict[str, str],
    ) -> tuple[IO[bytes], str]:
        created = datetime.fromtimestamp(0, UTC)
        if parents:
            created = datetime.now(UTC)
            # A unique image, whatever its content, because it is removed with its owner.
            labels = {**labels, **self.labels, _SNAPSHOT: secrets.token_hex(8)}
        # The caller that loads it closes it.
        file = tempfile.TemporaryFile(dir=self._claim.path)  # noqa: SIM115
        try:
            made = write_image(file, parents, fillers, labels=labels, created=created)
        except BaseException:
            file.close()
            raise
        if parents:
            with self._lock:
                self._own.add(made)
        return file, made

    # --- reading them ---

    def tree(
        self, image: str, upper: Sequence[str] = (), over: Mapping[str, str] | None = None
    ) -> LayerTree:
        """Return the files of an image under further layer directories and single files."""
        found = self.engine.image(image)
        binds = {**binds_of(found), **(over or {})}
        folders = [*upper, *found.folders]
        lack = NESTED if _TOO_DEEP in found.labels else ""
        return LayerTree(LayerAccess(privileged=True), folders, binds, TRUSTED_OPAQUE, lack=lack)

    @reached()
    def changes(self, before: str, after: str, upper: Sequence[str] = ()) -> list[Change]:
        """Return the changes of an image, under further layer directories, against another."""
        old, new = (self.engine.image(image) for image in (before, after))
        now = [*upper, *new.folders]
        with layers_bounded():
            if _TOO_DEEP in new.labels:
                raise OSError(errno.EOVERFLOW, NESTED)
            found = changes(list(old.folders), now, binds_of(new), TRUSTED_OPAQUE)
        return [Change(path, ChangeKind(kind)) for path, kind in found]

    # --- kept states ---

    def save_delta(self, before: str, after: str, bounds: Bounds) -> bytes:
        """Return the difference of an image to its ancestor as an archive, see `delta_format`.

        Raises:
            OSError: The archive exceeds the bounds.
            SandboxError: The images are not ancestor and descendant.
        """
        old, new = (self.engine.image(image) for image in (before, after))
        if _TOO_DEEP in new.labels:
            raise OSError(errno.EFBIG, NESTED)
        above = layers_above(old.folders, new.folders)
        if not above:
            return b""
        room = self.new_room()
        try:
            archive, layer = room / "delta.tar", above[0]
            if len(above) > 1:
                check_mergeable(sum(size(one, True) for one in above), bounds)
                layer = str(room / "merged")
                squash(list(above), layer, TRUSTED_OPAQUE)
            delta_packing.pack(
                *(layer, str(archive), TRUSTED_OPAQUE, 0), bounds.max_bytes, bounds.max_entries
            )
            return archive.read_bytes()
        finally:
            remove(str(room))

    def load_delta(self, before: str, data: bytes, bounds: Bounds) -> str:
        """Return an image that adds the layer of an archive to another; the caller holds it.

        Raises:
            SandboxError: The archive is damaged or holds too much.
        """
        image = self.engine.image(before)
        if not data:
            self.hold(before)
            return before
        room = self.new_room()
        try:
            archive, folder = room / "delta.tar", room / "layer"
            archive.write_bytes(data)
            delta_unpacking.unpack(
                *(str(archive), str(folder), TRUSTED_OPAQUE, 0),
                *(bounds.max_bytes, bounds.max_entries),
            )
            made = self._load(image.diff_ids, [partial(pack, str(folder))], base_labels(image))
        except OSError as error:
            raise SandboxError(f"a kept state cannot be unpacked: {error.strerror}") from error
        finally:
            remove(str(room))
        self.hold(made)
        return made

    # --- users of images ---

    def hold(self, image: str) -> None:
        """Count one more user of an image."""
        with self._lock:
            self._references[image] += 1
            if image not in self._own:
                self.named.note(image)

    def release(self, image: str) -> None:
        """Count one user less, and remove an unused image that belongs to this process alone."""
        with self._lock:
            self._references[image] -= 1
            unused = self._references[image] <= 0
            if unused:
                del self._references[image]
            unused = unused and image in self._own
            if unused:
                self._own.remove(image)
        if unused:
            self.engine.remove_image(image)

    def keep(self, key: str, image: str) -> str:
        """Make an image outlive this process under a key; the first one kept under a key wins."""
        kept = self.named.keep(key, image)
        if kept == image:
            with self._lock:
                self._own.discard(image)
        return kept

    def close(self) -> None:
        """Remove everything this process owns here; what stays, the next process removes."""
        self.watch.close()
        try:
            self._claim.close(self._clear)
        except SandboxError as error:
            _log.warning("warning: %s; the next run removes what is left", error)
