"""The hash of a state, kept up to date by the rows that change.

A table's digest is a multiset hash, the sum of SHA-256 over its rows modulo 2^256 (additive
hashing after Bellare and Micciancio, AdHash). It depends neither on the order of writes nor on
changes that were undone. The state's hash is SHA-256 over the tables' digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

RowKey: TypeAlias = tuple[int, int]
"""Number of the table in the layout, and rowid."""

Row: TypeAlias = Sequence[None | int | float | str | bytes]

_MODULUS: Final = 2**256
# Folding copies the whole index, so it waits until it pays.
_FOLD_AT: Final = 2000


def _as_json(value: object) -> object:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    raise TypeError(f"{type(value).__name__} is not a SQLite value")


_encode = json.JSONEncoder(separators=(",", ":"), default=_as_json).encode


def row_digest(row: Row) -> int:
    """Return SHA-256 of a row's canonical form as a number in [0, 2^256)."""
    return int.from_bytes(hashlib.sha256(_encode(row).encode()).digest(), "big")


@dataclass(frozen=True, slots=True)
class RowPatch:
    """The effect of one call on one row.

    Attributes:
        key: The row's table and rowid.
        before: Digest of the row before the call; None if there was no such row.
        after: Digest of the row after the call; None if the call removed it.
        row: Values of the counting columns after the call; None if the call removed it.
    """

    key: RowKey
    before: int | None
    after: int | None
    row: Row | None


class StateHash:
    """The digest of every row and the hash over all.

    Args:
        tables: Names of the tables, in the order of their numbers.
        rows: Digest by row; shared with copies and never written to.
    """

    def __init__(self, tables: Sequence[str], rows: Mapping[RowKey, int]) -> None:
        self._tables = tuple(tables)
        self._base = rows
        self._later: dict[RowKey, int | None] = {}
        self._sums = [0] * len(self._tables)
        for (table, _), digest in rows.items():
            self._sums[table] = (self._sums[table] + digest) % _MODULUS
        # What the state's hash is made of: every table's name and digest, sorted by the name.
        self._parts = {
            name: self._part(number, name)
            for name, number in sorted((name, number) for number, name in enumerate(self._tables))
        }
        self._value: str | None = None

    def compare(self, rows: Mapping[RowKey, Row | None]) -> list[RowPatch]:
        """Return the rows among these that differ from what was hashed."""
        patches = []
        for key, row in rows.items():
            before = self._later[key] if key in self._later else self._base.get(key)
            after = None if row is None else row_digest(row)
            if before != after:
                patches.append(RowPatch(key, before, after, row))
        return patches

    def apply(self, patches: Sequence[RowPatch]) -> None:
        """Apply the digests of changed rows."""
        for patch in patches:
            table = patch.key[0]
            change = (patch.after or 0) - (patch.before or 0)
            self._sums[table] = (self._sums[table] + change) % _MODULUS
            self._later[patch.key] = patch.after
        for table in {patch.key[0] for patch in patches}:
            name = self._tables[table]
            self._parts[name] = self._part(table, name)
            self._value = None

    def _part(self, table: int, name: str) -> bytes:
        return name.encode() + b"\0" + self._sums[table].to_bytes(32, "big")

    def copy(self) -> StateHash:
        """Return an independent index with the same content."""
        if len(self._later) > _FOLD_AT:
            merged = {**self._base, **self._later}
            self._base = {key: digest for key, digest in merged.items() if digest is not None}
            self._later = {}
        other = StateHash(self._tables, {})
        other._base, other._later = self._base, dict(self._later)
        other._take_sums(self)
        return other

    def sums(self) -> StateHash:
        """Return the same hash without the digests of rows, which many bytes would carry."""
        other = StateHash(self._tables, {})
        other._take_sums(self)
        return other

    def _take_sums(self, other: StateHash) -> None:
        self._sums, self._parts = list(other._sums), dict(other._parts)
        self._value = other._value

    def tables(self) -> dict[str, str]:
        """Return the digest of every table, 64 hex digits."""
        return {
            name: f"{digest:064x}" for name, digest in zip(self._tables, self._sums, strict=True)
        }

    def __str__(self) -> str:
        """Return the hash of the state, 64 hex digits."""
        if self._value is None:
            self._value = hashlib.sha256(b"".join(self._parts.values())).hexdigest()
        return self._value
