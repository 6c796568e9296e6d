"""The index from tags to the keys that carry them."""

from collections.abc import Hashable, Iterable


class TagIndex:
    def __init__(self) -> None:
        self._keys: dict[str, set[Hashable]] = {}

    def add(self, key: Hashable, tags: Iterable[str]) -> None:
        for tag in tags:
            self._keys.setdefault(tag, set()).add(key)

    def remove(self, key: Hashable, tags: Iterable[str]) -> None:
        for tag in tags:
            keys = self._keys.get(tag)
            if keys is not None:
                keys.discard(key)

    def keys(self, tag: str) -> set[Hashable]:
        return self._keys.get(tag, set())

    def tags(self) -> list[str]:
        return sorted(self._keys)
