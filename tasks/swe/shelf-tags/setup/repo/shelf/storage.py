"""Shelves on disk: one JSON object a line, the least recently used entry first."""

import json
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path

from shelf.entry import Entry


def write_shelf(
    path: Path, order: Iterable[Hashable], entries: Mapping[Hashable, Entry], now: float
) -> None:
    """Write entries in an order; lifetimes are written as what is left of them."""
    lines = []
    for key in order:
        entry = entries[key]
        if entry.is_expired(now):
            continue
        left = None if entry.expires is None else entry.expires - now
        lines.append(
            json.dumps({"key": key, "value": entry.value, "left": left, "tags": list(entry.tags)})
        )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_shelf(path: Path, now: float) -> dict[Hashable, Entry]:
    """Return the entries of a file in its order."""
    entries: dict[Hashable, Entry] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        expires = None if found["left"] is None else now + found["left"]
        entries[found["key"]] = Entry(found["value"], expires)
    return entries
