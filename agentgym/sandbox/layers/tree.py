"""File trees read from layers: those of a snapshot or of a frozen guest."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from agentgym.errors import GuestFileError, SandboxError
from agentgym.protocols import READ_BYTES, FileTree
from agentgym.records import FileStat
from agentgym.sandbox.layers.access import LayerAccess
from agentgym.sandbox.layers.stack import OPAQUE
from agentgym.threads import to_thread

LayerLocation: TypeAlias = tuple[list[str], dict[str, str], str]
"""Layers, topmost first; guest directory to host directory; the attribute that hides."""


class LayerTree:
    """A FileTree over overlay layers.

    Args:
        access: Runs the layer operations.
        layers: Host directories, topmost first.
        binds: Guest directory to host directory, below everything in the layers.
        opaque: The attribute of directories that hide lower content.
        lack: Why the layers lack some of the files, so that no walk is whole; empty if they do not.
    """

    def __init__(
        self,
        access: LayerAccess,
        layers: list[str],
        binds: dict[str, str],
        opaque: str = OPAQUE,
        *,
        lack: str = "",
    ) -> None:
        self._access, self._layers, self._binds, self._opaque = access, layers, binds, opaque
        self._lack = lack

    def location(self) -> LayerLocation | None:
        """Return the location of the files, so that another process of this host can read them.

        None if only root can read them: the kernel shows ``trusted.`` attributes to no other
        process, so a removed and recreated directory would seem to keep its old content.
        """
        if self._opaque.startswith("trusted."):
            return None
        return self._layers, self._binds, self._opaque

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return the stat of a path, or None if the path does not exist."""
        try:
            found = self._call("stat", path, follow)
        except GuestFileError:
            return None
        return FileStat(*found) if found is not None else None

    def read(self, path: str, *, max_bytes: int = READ_BYTES) -> bytes:
        """Return a regular file's bytes."""
        data: bytes = self._call("read", path, max_bytes)
        return data

    def list(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory."""
        names: list[str] = self._call("list", path)
        return names

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield every path below a directory, parents first, links not followed."""
        if self._lack:
            raise GuestFileError(f"{path}: {self._lack}")
        for child, found in self._call("walk", path):
            yield child, FileStat(*found)

    def _call(self, op: str, path: str, *more: object):  # type: ignore[no-untyped-def]
        try:
            return self._access.call(op, self._layers, self._binds, path, *more, self._opaque)
        except OSError as error:
            raise GuestFileError(f"{path}: {error.strerror}") from None


class LiveTree:
    """The files of a frozen guest until `close`; safe to read from any thread.

    Args:
        tree: Reads the files by path; once the guest continues, a path could lead anywhere.
    """

    def __init__(self, tree: FileTree) -> None:
        self._tree, self._open = tree, True
        self._reading = threading.Lock()

    def location(self) -> LayerLocation | None:
        """Return the location of the files, or None if no other process can read them there.

        A process that reads them there must finish before the tree is closed.
        """
        with self._reading:
            held = self._held()
        return held.location() if isinstance(held, LayerTree) else None

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return the stat of a path, or None if the path does not exist."""
        with self._reading:
            return self._held().stat(path, follow=follow)

    def read(self, path: str, *, max_bytes: int = READ_BYTES) -> bytes:
        """Return a regular file's bytes."""
        with self._reading:
            return self._held().read(path, max_bytes=max_bytes)

    def list(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory."""
        with self._reading:
            return self._held().list(path)

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield every path below a directory, parents first, links not followed."""
        with self._reading:
            found = [*self._held().walk(path)]
        yield from found

    async def close(self) -> None:
        """Refuse further reads, and wait for current ones."""
        if not self._reading.acquire(blocking=False):
            await to_thread(self._reading.acquire)
        self._open = False
        self._reading.release()

    def _held(self) -> FileTree:
        if not self._open:
            raise SandboxError(
                "the look at the sandbox is over and its programs go on; "
                "read its files inside `async with sandbox.look()`"
            )
        return self._tree
