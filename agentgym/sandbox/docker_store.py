"""Snapshots as Docker images: their owners, kept snapshots and the leftovers of dead processes.

    agentgym/host:<content>      the base image of the `host` recipe
    agentgym/root:<name>-…       the image of a built recipe
    agentgym/kept:<digest>       a kept snapshot, by the digest of store and key; its label
                                 `agentgym.root` is the folder of the store
    <root>/made/<name>           the names that this store gave; it prunes only those
    <root>/live/<owner>/         one folder per host process (see `claim.py`); its name is the
                                 label `agentgym.owner` of its containers and images

The label `agentgym.store` is the digest of the root, so stores do not see each other's images.
Images without a name belong to the process that made them and are removed with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import tarfile
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO

from agentgym.errors import SandboxError
from agentgym.records import Bounds, Change, ChangeKind
from agentgym.sandbox import delta
from agentgym.sandbox.access import LayerAccess, layers_bounded
from agentgym.sandbox.claim import Claim, noted, sweep
from agentgym.sandbox.docker_engine import OWNER, Engine, Image
from agentgym.sandbox.docker_layer import Allowance, is_untouched, pack, reached, write_image
from agentgym.sandbox.hostroot import (
    build_foundation,
    build_host_layer,
    foundation_name,
    host_layer_name,
)
from agentgym.sandbox.images import Image as BuiltImage
from agentgym.sandbox.images import all_images
from agentgym.sandbox.layer_changes import changes
from agentgym.sandbox.layer_merging import squash
from agentgym.sandbox.layer_names import BINDS, MAX_LAYERS, layers_above
from agentgym.sandbox.layer_size import size
from agentgym.sandbox.layer_stack import OPAQUE, TRUSTED_OPAQUE
from agentgym.sandbox.removal import remove
from agentgym.sandbox.runtime import find_runtime
from agentgym.sandbox.store import check_mergeable
from agentgym.sandbox.tree import LayerTree
from agentgym.sandbox.unpack import unpack
from agentgym.sandbox.watch import DiskWatch

_STORE = "agentgym.store"
# Host name and path of the store. One daemon may serve many hosts (containers that share its
# socket). This host cannot tell whether a folder of another host still exists.
_FOLDER = "agentgym.root"
# The base of an image, and the number of its layers that belong to the base.
_BASE = "agentgym.base"
_DEPTH = "agentgym.base-layers"
_HOST, _ROOT, _KEPT = "agentgym/host:", "agentgym/root:", "agentgym/kept:"
_SNAPSHOT = "agentgym.snapshot"


class ImageStore:
    """The images of this daemon for one process. Thread-safe; every method blocks."""

    def __init__(self, root: Path, engine: Engine) -> None:
        self.engine = engine
        self._root = root
        (root / "live").mkdir(parents=True, exist_ok=True)
        sweep(root, self._clear_orphan)
        store = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]
        self._clear_late(f"{_STORE}={store}")
        # The runtime of the supervisors of its sandboxes.
        self.runtime = find_runtime(root)
        self.disk = DiskWatch(engine.folder())
        # Last, because the caller cannot close a store whose constructor failed.
        self._claim = Claim(root)
        # Labels of everything that this process makes.
        self.labels = {_STORE: store, OWNER: self.owner, _FOLDER: _place(root)}
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
        with self._locked("late.lock"):
            # In this order, because a process that begins meanwhile makes its folder first.
            owners = self.engine.owners(label)
            alive = {folder.name for folder in (self._root / "live").iterdir()}
            self._remove_all_of(owners.keys() - alive)

    def _remove_all_of(self, owners: Iterable[str]) -> None:
        for owner in filter(None, owners):
            with contextlib.suppress(SandboxError):
                self.engine.remove_all_of(owner)

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
        return self._base(_host_name(), _build_host)

    def root(self, image: BuiltImage) -> str:
        """Return the image of a built recipe; make it if it is missing."""

        def build(room: Path) -> list[str]:
            folders = [str(room / str(number)) for number in range(len(image.layers) + 1)]
            build_foundation(Path(folders[0]), os.getuid())
            for layer, folder in zip(image.layers, folders[1:], strict=True):
                unpack(layer, Path(folder), first_id=0)
            return folders

        return self._base(_root_name(image), build)

    def _base(self, name: str, build: Callable[[Path], list[str]]) -> str:
        """Return the image with a name; make it if it is missing.

        Args:
            name: Repository and tag; it changes with every input of the image.
            build: Makes the directories of its layers, lowest first, in a given folder.
        """
        found = self._noted(name)
        if found is not None:
            return found.id
        with self._locked("base.lock"):
            found = self._noted(name)
            if found is not None:
                return found.id
            room = self.new_room()
            try:
                fillers = [partial(pack, folder, opaque=OPAQUE) for folder in build(room)]
                labels = {_BASE: name, _DEPTH: str(len(fillers))}
                made = self._load([], fillers, labels)
            finally:
                remove(str(room))
            self._name_lasting(made, name)
            return made

    def _name_lasting(self, image: str, name: str) -> None:
        """Give an image a name that outlives this process, and record it for `prune`."""
        with self._locked("prune.lock", fcntl.LOCK_SH):
            self._note(image)
            (self._root / "made").mkdir(exist_ok=True)
            (self._root / "made" / name.replace("/", " ")).touch()
            self.engine.tag(image, name)

    def _noted(self, name: str, fits: Callable[[Image], bool] = lambda image: True) -> Image | None:
        """Return the image with a name and protect it from pruning while this process lives."""
        with self._locked("prune.lock", fcntl.LOCK_SH):
            found = self.engine.find(name)
            if found is None or not fits(found):
                return None
            self._note(found.id)
        return found

    def _note(self, image: str) -> None:
        with self._lock:
            self._claim.note(image)

    @contextlib.contextmanager
    def _locked(self, name: str, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
        with open(self._root / name, "wb") as lock:
            fcntl.flock(lock, kind)
            yield

    def is_over(self, image: str, base: str) -> bool:
        """Return whether an image is a snapshot over a base image."""
        labels = (self.engine.image(name).labels for name in (image, base))
        return len({label[_BASE] for label in labels}) == 1

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

        def write(archive: tarfile.TarFile) -> None:
            pack(upper, archive, allowance=allowance)
            if extra is not None:
                extra(archive)

        file, made = self._write(image.diff_ids, [write], _base_labels(image))

        @reached()
        def finish() -> str:
            with file:
                self.engine.load(file)
            return self._shallow(made)

        return finish

    def _shallow(self, deep: str) -> str:
        """Return an image with the same files and few enough layers for one mount."""
        image = self.engine.image(deep)
        if len(image.folders) <= MAX_LAYERS:
            return deep
        room = self.new_room()
        merged = str(room / "merged")
        depth = int(image.labels[_DEPTH])
        squash(list(image.folders[:-depth]), merged, TRUSTED_OPAQUE)
        flat = self._load(
            image.diff_ids[:depth],
            [partial(pack, merged)],
            _base_labels(image),
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
        binds = {**_binds(found), **(over or {})}
        folders = [*upper, *found.folders]
        return LayerTree(LayerAccess(privileged=True), folders, binds, TRUSTED_OPAQUE)

    @reached()
    def changes(self, before: str, after: str, upper: Sequence[str] = ()) -> list[Change]:
        """Return the changes of an image, under further layer directories, against another."""
        old, new = (self.engine.image(image) for image in (before, after))
        now = [*upper, *new.folders]
        with layers_bounded():
            found = changes(list(old.folders), now, _binds(new), TRUSTED_OPAQUE)
        return [Change(path, ChangeKind(kind)) for path, kind in found]

    # --- kept states ---

    def save_delta(self, before: str, after: str, bounds: Bounds) -> bytes:
        """Return the difference of an image to its ancestor as an archive (see `delta.py`).

        Raises:
            OSError: The archive exceeds the bounds.
            SandboxError: The images are not ancestor and descendant.
        """
        old, new = (self.engine.image(image) for image in (before, after))
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
            delta.pack(
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
            delta.unpack(
                *(str(archive), str(folder), TRUSTED_OPAQUE, 0),
                *(bounds.max_bytes, bounds.max_entries),
            )
            made = self._load(image.diff_ids, [partial(pack, str(folder))], _base_labels(image))
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
                self._claim.note(image)

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

    def find(self, key: str) -> str | None:
        """Return the image kept under a key, or None if it is missing or has an outdated base."""
        found = self._noted(self._name(key), _is_current)
        return None if found is None else found.id

    def keep(self, key: str, image: str) -> str:
        """Make an image outlive this process under a key; the first one kept under a key wins."""
        with self._locked("keep.lock"):
            earlier = self.find(key)
            if earlier is not None and self.is_over(earlier, image):
                return earlier
            name = self._name(key)
            self.engine.remove_image(name)
            self._name_lasting(image, name)
        with self._lock:
            self._own.discard(image)
        return image

    def prune(self, keep: Collection[str]) -> int:
        """Drop kept snapshots and images that are not named and that no live process uses.

        It also drops the images of stores whose folder is gone, because no other store does.

        Args:
            keep: Keys of snapshots and names of images.

        Returns:
            How many bytes that freed.
        """
        freed, needed = 0, {_host_name(), *(self._name(key) for key in keep)}
        needed.update(_root_name(image) for image in all_images() if image.name in keep)
        with self._locked("prune.lock"):
            used = noted(self._root)
            for file in self._root.glob("made/*"):
                name = file.name.replace(" ", "/")
                image = self.engine.find(name)
                if name in needed or (image is not None and image.id in used):
                    continue
                freed += self._drop(name)
                file.unlink()
            for names, place in self.engine.labelled(_FOLDER):
                if _is_gone(place):
                    freed += sum(self._drop(name) for name in names if name.startswith(_KEPT))
            made = self.engine.owners(_FOLDER).items()
            self._remove_all_of([owner for owner, labels in made if _is_gone(labels[_FOLDER])])
        return freed

    def _drop(self, name: str) -> int:
        """Remove a name, and with its last name the image; return how many bytes that freed."""
        image = self.engine.find(name)
        if image is None:
            return 0
        sizes = {folder: size(folder) for folder in image.folders}
        # A container of another owner may still use the image.
        with contextlib.suppress(SandboxError):
            self.engine.remove_image(name)
        return sum(used for folder, used in sizes.items() if not os.path.exists(folder))

    def _name(self, key: str) -> str:
        text = f"{self.labels[_STORE]} {key}"
        return f"{_KEPT}{hashlib.sha256(text.encode()).hexdigest()[:24]}"

    def close(self) -> None:
        """Remove everything this process owns here."""
        self._claim.close(self._clear)


def _place(root: Path) -> str:
    return f"{os.uname().nodename}:{root.resolve()}"


def _is_gone(place: str) -> bool:
    """Return whether a store was on this host and its folder no longer exists."""
    host, _, folder = place.partition(":")
    return host == os.uname().nodename and not os.path.lexists(folder)


def _host_name() -> str:
    content = repr((host_layer_name(), host_folders(), _host_links()))
    return f"{_HOST}{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _root_name(image: BuiltImage) -> str:
    # A plan built twice may give two images. A tag takes few characters.
    name, built = image.name.replace(":", "-")[:64], image.digest.rpartition(":")[2][:12]
    return f"{_ROOT}{name}-{built}-{foundation_name()}"


def _is_current(image: Image) -> bool:
    """Return whether an image has a current base: this host's or a current built image."""
    label = image.labels.get(_BASE, "")
    return label == _host_name() or label in [_root_name(image) for image in all_images()]


def is_over_host(image: Image) -> bool:
    """Return whether containers of an image see the host's /usr."""
    return image.labels[_BASE].startswith(_HOST)


def _base_labels(image: Image) -> dict[str, str]:
    return {name: image.labels[name] for name in (_BASE, _DEPTH)}


def _binds(image: Image) -> dict[str, str]:
    return BINDS if is_over_host(image) else {}


def _build_host(room: Path) -> list[str]:
    folder = room / "host"
    build_host_layer(folder, os.getuid())
    for path in host_folders():
        (folder / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
    for path, target in _host_links().items():
        (folder / path.lstrip("/")).symlink_to(target)
    return [str(folder)]


def host_folders() -> list[str]:
    """Return the folders of the host that guests see, read-only: all of /usr but /usr/local."""
    with os.scandir("/usr") as entries:
        return sorted(
            entry.path
            for entry in entries
            if entry.is_dir(follow_symlinks=False) and entry.name != "local"
        )


def _host_links() -> dict[str, str]:
    with os.scandir("/usr") as entries:
        found = {entry.path: os.readlink(entry.path) for entry in entries if entry.is_symlink()}
    return dict(sorted(found.items()))
