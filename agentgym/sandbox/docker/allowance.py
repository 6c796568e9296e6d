"""The bound of a guest's files in a layer of a Docker image, and whether to go on with it."""

from __future__ import annotations

import errno
import io
import stat
from array import array
from collections.abc import Callable, Iterator
from os import stat_result
from typing import IO

from agentgym.errors import SandboxError
from agentgym.sandbox.layers.stack import entries


class Allowance:
    """The allowed size of the files in a new layer, with holes, because an image has no holes.

    Args:
        limit_bytes: Limit of all files together.
        stopped: Returns whether the caller has given up the layer.

    Attributes:
        left_out: Names of the files that did not fit; the layer has them empty.
        too_deep: Whether folders are nested deeper than a path can name; the layer lacks them.
    """

    def __init__(self, limit_bytes: int, stopped: Callable[[], bool] = lambda: False) -> None:
        self.left_out: list[str] = []
        self.too_deep = False
        self._left = limit_bytes
        self._stopped = stopped
        # Of the largest files that fit: their size, and how many of this size fit.
        self._largest: int | None = None
        self._of_largest = 0

    def measure(self, folder: str) -> None:
        """Look at all files below a folder; if they do not all fit, the largest are left out.

        If it were the last ones, a guest could choose by its holes which file no judge sees.

        Raises:
            SandboxError: The caller has given up the layer.
        """
        sizes = array("q", self._sizes(folder))
        if sum(sizes) <= self._left:
            return
        left, self._largest = self._left, 0
        for size in sorted(sizes):
            left -= size
            if left < 0:
                break
            self._of_largest = self._of_largest + 1 if size == self._largest else 1
            self._largest = size

    def _sizes(self, folder: str) -> Iterator[int]:
        """Yield the sizes of the regular files in a folder, of a file with several names once."""
        seen: set[int] = set()
        levels: list[tuple[str, list[str]]] = [("", [""])]
        while levels:
            place, names = levels[-1]
            if not names:
                levels.pop()
                continue
            self.go_on()
            name = names.pop()
            place += f"{name}/" if name else ""
            inner = []
            for name, info in self._entries(f"{folder}/{place}"):
                if stat.S_ISDIR(info.st_mode):
                    inner.append(name)
                if stat.S_ISREG(info.st_mode) and (info.st_nlink == 1 or info.st_ino not in seen):
                    if info.st_nlink > 1:
                        seen.add(info.st_ino)
                    yield info.st_size
            levels.append((place, inner))

    def _entries(self, folder: str) -> Iterator[tuple[str, stat_result]]:
        try:
            yield from entries(folder, whole=True)
        except OSError as error:
            if error.errno != errno.EOVERFLOW:
                raise
            self.too_deep = True

    def take(self, name: str, size: int) -> bool:
        """Return whether a file fits, and count it if so.

        Raises:
            SandboxError: The caller has given up the layer.
        """
        self.go_on()
        fits = size <= self._left and (self._largest is None or size <= self._largest)
        if fits and size == self._largest:
            fits = self._of_largest > 0
            self._of_largest -= 1
        if fits:
            self._left -= size
        else:
            self.left_out.append(name)
        return fits

    def go_on(self) -> None:
        """Raise a SandboxError if the caller has given up the layer."""
        if self._stopped():
            raise SandboxError("freezing the files was stopped")


class Watched(io.RawIOBase):
    """A file whose reading can stop in the middle.

    Args:
        file: The file; its owner closes it.
        allowance: Tells whether to stop.
    """

    def __init__(self, file: IO[bytes], allowance: Allowance) -> None:
        self._file, self._allowance = file, allowance

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes.

        Raises:
            SandboxError: The caller has given up the layer.
        """
        self._allowance.go_on()
        return self._file.read(size)

    def fileno(self) -> int:
        """Return the descriptor of the file, which tells a client of HTTP its size."""
        return self._file.fileno()

    def tell(self) -> int:
        """Return the position in the file."""
        return self._file.tell()
