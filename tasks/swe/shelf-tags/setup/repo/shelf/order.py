"""The order in which keys were used."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator


class UseOrder:
    """Keys, the least recently used one first."""

    def __init__(self) -> None:
        self._keys: OrderedDict[Hashable, None] = OrderedDict()

    def touch(self, key: Hashable) -> None:
        self._keys[key] = None
        self._keys.move_to_end(key)

    def forget(self, key: Hashable) -> None:
        self._keys.pop(key, None)

    def oldest(self) -> Hashable:
        return next(iter(self._keys))

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._keys)
