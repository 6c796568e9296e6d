r"""`run.journal`: the newest steps of a run, until the table `steps` of `run.db` takes them over.

A line is a row of that table, the columns divided by tabs, which JSON spells ``\t``; the last
is the SHA-256 of the others. One ``pwrite(2)`` puts it down, a fifth of what an SQL insert
costs. As in SQLite's own log, all that follows a line that is not whole was never recorded.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from agentgym.errors import RecordError
from agentgym.record.folder import RunFolder

LIMIT_BYTES = 8 << 20
"""The most that a journal may hold; a writer empties it at a small part of that."""

Value = int | float | str

COLUMNS: Final = {
    **{"episode": int, "step": int, "duration_s": float},
    **{"prompt_tokens": int, "completion_tokens": int, "cached_tokens": int},
    **{"decision": str, "observation": str, "happenings": str},
}
"""The columns of the table `steps` in their order, `digest` apart."""


def as_line(*columns: Value) -> str:
    """Return a row as its line, without the digest and the line's end."""
    return "\t".join(map(str, columns))


def digest(line: str) -> str:
    """Return the SHA-256 of what `as_line` returned as 64 hex digits; a blob counts by its name."""
    return hashlib.sha256(line.encode("ascii")).hexdigest()


def read_journal(folder: Path) -> list[tuple[Value, ...]]:
    """Return the rows of a run's journal, each with its digest; any process may, at any time.

    Raises:
        RecordError: It cannot be read.
    """
    path = folder / "run.journal"
    try:
        lines = RunFolder(folder).read("run.journal", LIMIT_BYTES).split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from error
    rows: list[tuple[Value, ...]] = []
    for written in lines:
        line, _, seal = written.decode("ascii", "replace").rpartition("\t")
        if not line.isascii() or digest(line) != seal:
            break
        try:
            values = zip(COLUMNS.values(), line.split("\t"), strict=True)
            rows.append((*(kind(value) for kind, value in values), seal))
        except ValueError as error:
            raise RecordError(f"{path} is damaged: line {len(rows) + 1}: {error}") from error
    return rows


class Journal:
    """The journal as its one writer has it; close it at the end.

    Args:
        folder: The run folder; the caller holds the run's lock.

    Attributes:
        size: Bytes that hold steps.

    Raises:
        RecordError: The file cannot be opened for writing.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "run.journal"
        try:
            self._file = RunFolder(folder).open_to_write("run.journal")
        except OSError as error:
            raise self._failure(error.strerror) from error
        self.size = os.fstat(self._file).st_size

    def append(self, *columns: Value) -> None:
        """Add a row; when this returns, the death of the process cannot lose it.

        Raises:
            RecordError: The disk is full.
        """
        line = as_line(*columns)
        data = f"{line}\t{digest(line)}\n".encode("ascii")
        try:
            written = os.pwrite(self._file, data, self.size)
        except OSError as error:
            raise self._failure(error.strerror) from error
        if written < len(data):
            # A part of a line counts for nothing, and the next line is written over it.
            raise self._failure("No space left on the disk")
        self.size += written

    def clear(self) -> None:
        """Empty it: the table has its rows.

        Raises:
            RecordError: The file system refuses.
        """
        try:
            os.ftruncate(self._file, 0)
        except OSError as error:
            raise self._failure(error.strerror) from error
        self.size = 0

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _failure(self, reason: str | None) -> RecordError:
        return RecordError(
            f"{self._path} cannot be written: {reason}; what was recorded before is kept"
        )
