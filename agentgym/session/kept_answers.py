"""The memory that all sessions of a server keep for calls that are sent again.

Each session keeps its last answers. A client with many sessions could fill the memory so: above a
bound the account that keeps the most has the oldest answers of its largest session forgotten.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Protocol

ALL_KEPT_BYTES: Final = 2**30
"""Size of the answers that all sessions may keep together."""


class Keeper(Protocol):
    """A session, or a part of one, that keeps answers."""

    @property
    def kept_bytes(self) -> int:
        """Bytes that it keeps."""
        ...

    def forget_half(self) -> None:
        """Forget the older half of them, at least one answer."""
        ...


class KeptAnswers:
    """The answers that the sessions of one server keep.

    Args:
        most_bytes: Largest size of all of them.
    """

    def __init__(self, most_bytes: int = ALL_KEPT_BYTES) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._keepers: dict[Keeper, object] = {}

    def enter(self, keeper: Keeper, account: object) -> None:
        """Count what a session of an account keeps from now on."""
        self._keepers[keeper] = account

    def leave(self, keeper: Keeper) -> None:
        """Count a session no more."""
        if keeper in self._keepers:
            del self._keepers[keeper]
            self._bytes -= keeper.kept_bytes

    def add(self, keeper: Keeper, more_bytes: int) -> None:
        """Note that a session keeps more, or less."""
        if keeper not in self._keepers:
            return
        self._bytes += more_bytes
        while more_bytes > 0 and self._bytes > self._most_bytes:
            largest = self._largest()
            if not largest.kept_bytes:
                return
            largest.forget_half()

    def _largest(self) -> Keeper:
        """Return the session that keeps the most, of the account that does."""
        by_account: Counter[int] = Counter()
        for keeper, account in self._keepers.items():
            by_account[id(account)] += keeper.kept_bytes
        ((most, _),) = by_account.most_common(1)
        own = [keeper for keeper, account in self._keepers.items() if id(account) == most]
        return max(own, key=lambda keeper: keeper.kept_bytes)
