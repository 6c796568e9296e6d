"""The files of a snapshot as a FileTree, read from its layers: nothing of the guest runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentgym.errors import GuestFileError
from agentgym.records import FileStat
from agentgym.sandbox.access import LayerAccess
from agentgym.sandbox.layers import OPAQUE


class LayerTree:
    """A FileTree over overlay layers.

    Args:
        access: Who runs the layer operations.
        layers: Host directories, topmost first.
        binds: Guest directory to host directory, below everything in the layers.
        opaque: The attribute of directories that hide what is below.
    """

    def __init__(
        self,
        access: LayerAccess,
        layers: list[str],
        binds: dict[str, str],
        opaque: str = OPAQUE,
    ) -> None:
        self._access, self._layers, self._binds, self._opaque = access, layers, binds, opaque

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return what is at a path, or None where nothing is."""
        try:
            found = self._call("stat", path, follow)
        except GuestFileError:
            return None
        return FileStat(*found) if found is not None else None

    def read(self, path: str, *, max_bytes: int = 64 * 2**20) -> bytes:
        """Return a regular file's bytes."""
        data: bytes = self._call("read", path, max_bytes)
        return data

    def list(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory."""
        names: list[str] = self._call("list", path)
        return names

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield every path below a directory, parents first, links not followed."""
        for child, found in self._call("walk", path):
            yield child, FileStat(*found)

    def _call(self, op: str, path: str, *more: object):  # type: ignore[no-untyped-def]
        try:
            return self._access.call(op, self._layers, self._binds, path, *more, self._opaque)
        except OSError as error:
            raise GuestFileError(f"{path}: {error.strerror}") from None
