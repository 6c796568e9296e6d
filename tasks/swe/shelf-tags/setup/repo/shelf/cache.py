"""The cache."""

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path

from shelf.entry import Entry
from shelf.order import UseOrder
from shelf.stats import Stats
from shelf.storage import read_shelf, write_shelf
from shelf.tags import TagIndex


class Shelf:
    """A cache. Keys are hashable; `None` is a value like any other.

    Args:
        limit: Largest number of entries.
        lifetime: Seconds that an entry lives unless `put` says otherwise; None: for ever.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        limit: int = 1000,
        lifetime: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if limit < 1:
            raise ValueError(f"limit: expected at least 1, got {limit}")
        self.limit, self.lifetime, self.clock = limit, lifetime, clock
        self.stats = Stats()
        self._entries: dict[Hashable, Entry] = {}
        self._order = UseOrder()
        self._tags = TagIndex()

    def put(
        self,
        key: Hashable,
        value: object,
        *,
        lifetime: float | None = None,
        tags: Iterable[str] = (),
    ) -> None:
        """Keep a value under a key; what was there is replaced."""
        lifetime = lifetime or self.lifetime
        expires = None if lifetime is None else self.clock() + lifetime
        entry = Entry(value, expires, frozenset(tags))
        self._entries[key] = entry
        self._order.touch(key)
        self._tags.add(key, entry.tags)
        self._make_room()

    def get(self, key: Hashable, default: object = None) -> object:
        """Return the value under a key, and count a hit; else the default, and a miss."""
        entry = self._entries.get(key)
        if entry is None or entry.is_expired(self.clock()):
            if entry is not None:
                self._remove(key)
                self.stats.expired += 1
            self.stats.misses += 1
            return default
        self._order.touch(key)
        self.stats.hits += 1
        return entry.value

    def drop(self, key: Hashable) -> bool:
        """Remove an entry; return whether there was one."""
        if key not in self._entries:
            return False
        self._remove(key)
        self.stats.dropped += 1
        return True

    def drop_tag(self, tag: str) -> int:
        """Remove all entries with a tag; return how many they were."""
        keys = self._tags.keys(tag)
        count = len(keys)
        for key in list(keys):
            self._entries.pop(key, None)
            self._order.forget(key)
        keys.clear()
        self.stats.dropped += count
        return count

    def tags(self) -> list[str]:
        """Return the tags that entries carry, sorted."""
        return self._tags.tags()

    def sweep(self) -> int:
        """Remove all entries whose lifetime has ended; return how many they were."""
        now = self.clock()
        gone = [key for key, entry in self._entries.items() if entry.is_expired(now)]
        for key in gone:
            self._remove(key)
        self.stats.expired += len(gone)
        return len(gone)

    def save(self, path: Path) -> None:
        """Write the shelf to a file."""
        write_shelf(path, self._order, self._entries, self.clock())

    def load(self, path: Path) -> None:
        """Replace all entries by those of a file that `save` wrote."""
        self._entries = read_shelf(path, self.clock())
        self._order, self._tags = UseOrder(), TagIndex()
        for key, entry in self._entries.items():
            self._order.touch(key)
            self._tags.add(key, entry.tags)
        self._make_room()

    def __contains__(self, key: Hashable) -> bool:
        entry = self._entries.get(key)
        return entry is not None and not entry.is_expired(self.clock())

    def __len__(self) -> int:
        now = self.clock()
        return sum(not entry.is_expired(now) for entry in self._entries.values())

    def __iter__(self) -> Iterator[Hashable]:
        """Iterate over the keys, the least recently used one first."""
        return (key for key in list(self._order) if key in self)

    def _remove(self, key: Hashable) -> None:
        entry = self._entries.pop(key)
        self._order.forget(key)
        self._tags.remove(key, entry.tags)

    def _make_room(self) -> None:
        while len(self._entries) > self.limit:
            self._entries.pop(self._order.oldest())
            self._order.forget(self._order.oldest())
            self.stats.evicted += 1
