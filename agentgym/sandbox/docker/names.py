"""Docker images that outlive the process, by their names: bases and kept snapshots.

    agentgym/kept:<digest>       a kept snapshot, by the digest of store and key; its label
                                 `agentgym.root` is the folder of the store
    <root>/made/<name>           the names that this store gave; it prunes only those

A live process notes the images that it uses (see `claim.py`), and no process prunes these.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final

from agentgym.claim import Claim, locked, noted
from agentgym.errors import SandboxError
from agentgym.sandbox.docker.bases import host_name, is_current, is_over, root_name
from agentgym.sandbox.docker.engine import Engine, Image
from agentgym.sandbox.images import all_images
from agentgym.sandbox.layers.size import size

# Host name and path of the store. One daemon may serve many hosts (containers that share its
# socket). This host cannot tell whether a folder of another host still exists.
FOLDER: Final = "agentgym.root"
_KEPT = "agentgym/kept:"


class NamedImages:
    """The images that a store gave a name to. Thread-safe; every method blocks.

    Args:
        root: Folder of the store.
        engine: The daemon.
        claim: The folder of this process, in which it notes what it uses.
        store: Digest of the root.
    """

    def __init__(self, root: Path, engine: Engine, claim: Claim, store: str) -> None:
        self._root, self._engine, self._claim, self._store = root, engine, claim, store
        self._lock = threading.Lock()

    def give_name(self, image: str, name: str) -> None:
        """Give an image a name that outlives this process, and record it for `prune`."""
        with locked(self._root, "prune.lock", fcntl.LOCK_SH):
            self.note(image)
            (self._root / "made").mkdir(exist_ok=True)
            (self._root / "made" / name.replace("/", " ")).touch()
            self._engine.tag(image, name)

    def with_name(
        self, name: str, fits: Callable[[Image], bool] = lambda image: True
    ) -> Image | None:
        """Return the image with a name and protect it from pruning while this process lives."""
        with locked(self._root, "prune.lock", fcntl.LOCK_SH):
            found = self._engine.find(name)
            if found is None or not fits(found):
                return None
            self.note(found.id)
        return found

    def note(self, image: str) -> None:
        """Protect an image from pruning while this process lives."""
        with self._lock:
            self._claim.note(image)

    def find(self, key: str) -> str | None:
        """Return the image kept under a key, or None if it is missing or has an outdated base."""
        found = self.with_name(self._key_name(key), is_current)
        return None if found is None else found.id

    def keep(self, key: str, image: str) -> str:
        """Make an image outlive this process under a key; the first one kept under a key wins."""
        with locked(self._root, "keep.lock"):
            earlier = self.find(key)
            if earlier is not None and is_over(self._engine, earlier, image):
                return earlier
            name = self._key_name(key)
            self._engine.remove_image(name)
            self.give_name(image, name)
        return image

    def prune(self, keep: Collection[str]) -> int:
        """Drop kept snapshots and images that are not named and that no live process uses.

        It also drops the images of stores whose folder is gone, because no other store does.

        Args:
            keep: Keys of snapshots and names of images.

        Returns:
            How many bytes that freed.
        """
        freed, needed = 0, {host_name(), *(self._key_name(key) for key in keep)}
        needed.update(root_name(image) for image in all_images() if image.name in keep)
        with locked(self._root, "prune.lock"):
            used = noted(self._root)
            for file in self._root.glob("made/*"):
                name = file.name.replace(" ", "/")
                image = self._engine.find(name)
                if name in needed or (image is not None and image.id in used):
                    continue
                freed += self._drop(name)
                file.unlink()
            for names, place in self._engine.labelled(FOLDER):
                if _is_gone(place):
                    freed += sum(self._drop(name) for name in names if name.startswith(_KEPT))
            made = self._engine.owners(FOLDER).items()
            remove_owners(
                self._engine, [owner for owner, labels in made if _is_gone(labels[FOLDER])]
            )
        return freed

    def _drop(self, name: str) -> int:
        """Remove a name, and with its last name the image; return how many bytes that freed."""
        image = self._engine.find(name)
        if image is None:
            return 0
        sizes = {folder: size(folder) for folder in image.folders}
        # A container of another owner may still use the image.
        with contextlib.suppress(SandboxError):
            self._engine.remove_image(name)
        return sum(used for folder, used in sizes.items() if not os.path.exists(folder))

    def _key_name(self, key: str) -> str:
        text = f"{self._store} {key}"
        return f"{_KEPT}{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def remove_owners(engine: Engine, owners: Iterable[str]) -> None:
    """Remove the containers and images of processes, as far as the daemon can."""
    for owner in filter(None, owners):
        with contextlib.suppress(SandboxError):
            engine.remove_all_of(owner)


def place_of(root: Path) -> str:
    """Return host name and path of a store, the value of its label."""
    return f"{os.uname().nodename}:{root.resolve()}"


def _is_gone(place: str) -> bool:
    """Return whether a store was on this host and its folder no longer exists."""
    host, _, folder = place.partition(":")
    return host == os.uname().nodename and not os.path.lexists(folder)
