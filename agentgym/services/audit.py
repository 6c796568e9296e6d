"""The append-only audit log of services, on the host: calls, callers, and changes.

Entries are kept in memory and, if a file is given, as one line of JSON each. The line is written
before the caller gets its answer, so a process killed at any moment leaves whole entries of all
answered calls.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic_core import PydanticSerializationError, to_json

from agentgym.errors import RecordError
from agentgym.records import AuditEntry, Json, RowRef
from agentgym.services.state import Value

BOUND: Final = 64 * 1024
"""Largest number of characters of arguments or of a result in an entry."""


KEPT: Final = 64 * 2**20
"""Largest number of characters in all entries together; later entries keep only beginnings."""

_BEGINNING: Final = 1024


class Audit:
    """The entries of one state, oldest first.

    Args:
        file: File to which every entry is appended as a line; it is created if absent.
        entries: Earlier entries, of the state that this one was forked from.
    """

    def __init__(self, file: Path | None = None, entries: Sequence[AuditEntry] = ()) -> None:
        self._entries = list(entries)
        self._kept = sum(map(_size, self._entries))
        self._descriptor: int | None = None
        if file is not None:
            _drop_torn_line(file)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(file, flags, 0o600)

    def append(self, entry: AuditEntry) -> None:
        """Add an entry; with a file, the entry has left this process when this returns."""
        self._entries.append(entry)
        self._kept += _size(entry)
        if self._descriptor is not None:
            line = memoryview(_as_line(entry))
            while line:
                line = line[os.write(self._descriptor, line) :]

    def bounded(self, text: str) -> str:
        """Return JSON text as the next entry keeps it: whole, or its beginning with its digest."""
        if len(text) <= (BOUND if self._kept < KEPT else _BEGINNING):
            return text
        digest = hashlib.sha256(text.encode()).hexdigest()
        cut = {"cut": text[:_BEGINNING], "characters": len(text), "sha256": digest}
        return json.dumps(cut, ensure_ascii=False)

    def bounded_row(self, row: Mapping[str, Value]) -> dict[str, Json]:
        """Return the columns of a row as the next entry keeps them: JSON, long texts cut."""
        most = BOUND if self._kept < KEPT else _BEGINNING
        return {
            name: hashlib.sha256(value).hexdigest()
            if isinstance(value, bytes)
            else (value[:most] if isinstance(value, str) else value)
            for name, value in row.items()
        }

    def close(self) -> None:
        """Close the file; entries can still be read."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[AuditEntry]:
        return iter(tuple(self._entries))

    def __getitem__(self, index: int) -> AuditEntry:
        return self._entries[index]


def _as_line(entry: AuditEntry) -> bytes:
    fields = entry.to_json()
    try:
        return to_json(fields, inf_nan_mode="constants") + b"\n"
    except PydanticSerializationError:  # a lone surrogate, which only ASCII can spell
        return json.dumps(fields).encode() + b"\n"


def _size(entry: AuditEntry) -> int:
    size = len(entry.arguments_json) + len(entry.result_json)
    for ref in entry.changed:
        if ref.row is not None:
            size += sum(len(value) for value in ref.row.values() if isinstance(value, str))
    return size


def read_audit(file: Path) -> list[AuditEntry]:
    """Read an audit file; a last line that was cut by a kill is left out.

    Raises:
        RecordError: The file is unreadable or a whole line in it is not a valid entry.
    """
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise RecordError(f"{file}: {error.strerror}; expected an audit log") from error
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            changed = tuple(RowRef(*row) for row in entry.pop("changed"))
            entries.append(AuditEntry(**entry, changed=changed))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise RecordError(f"{file}:{number}: is not an audit entry: {error}") from error
    return entries


def _drop_torn_line(file: Path) -> None:
    """Remove a partial entry that a kill has left, so that the next one has a line of its own."""
    if file.exists():
        kept = file.read_bytes()
        whole = kept.rfind(b"\n") + 1
        if whole < len(kept):
            os.truncate(file, whole)
