"""Writes files."""

import os
from pathlib import Path

from inkrec import record
from inkrec.header import VERSION, check_header, make_header


class Writer:
    """Appends records to a file, which is made if it is not there.

    Records are kept in memory until `flush` or `close`, or until they have `buffer` bytes.
    """

    def __init__(self, path: str | os.PathLike[str], buffer: int = 65536) -> None:
        self.path, self.buffer = Path(path), buffer
        self._waiting: list[bytes] = []
        self._size = 0
        self._file = open(self.path, "ab")
        if self._file.tell() == 0:
            self._file.write(make_header(VERSION))
        else:
            with open(self.path, "rb") as file:
                check_header(file)

    def append(self, data: bytes, kind: int = 0) -> None:
        """Add a record of a kind from 0 to 127."""
        if not 0 <= kind < record.OWN_KINDS:
            raise ValueError(f"kind: expected 0 to {record.OWN_KINDS - 1}, got {kind}")
        if len(data) > record.MOST_BYTES:
            raise ValueError(f"a record of {len(data)} bytes; at most {record.MOST_BYTES}")
        made = record.encode(kind, data)
        self._waiting.append(made)
        self._size += len(made)
        if self._size >= self.buffer:
            self.flush()

    def flush(self) -> None:
        """Write what waits, down to the disk."""
        self._file.write(b"".join(self._waiting))
        self._waiting, self._size = [], 0
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Flush and close; a second time does nothing."""
        if not self._file.closed:
            self.flush()
            self._file.close()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
