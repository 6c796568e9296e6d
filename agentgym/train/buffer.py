"""Keeps groups of trajectories for another use and draws the newest most often."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class _Kept(Generic[T]):
    item: T
    version: int


class ReplayBuffer(Generic[T]):
    """Keeps items by the policy version that made them and draws the newest most often.

    The chance of an item halves with every `half_life` versions of age. Items older than `oldest`
    versions, and the oldest of more than `capacity`, are forgotten.

    Args:
        capacity: Largest number of items.
        half_life: Versions after which an item is drawn half as often.
        oldest: Largest age in versions.
        seed: Seed of the draws.

    Raises:
        ValueError: A bound is not positive.
    """

    def __init__(self, capacity: int, *, half_life: float, oldest: int, seed: int = 0) -> None:
        for name, bound in (("capacity", capacity), ("half_life", half_life)):
            if bound <= 0:
                raise ValueError(f"{name}: expected a number above 0, got {bound}")
        if oldest < 0:
            raise ValueError(f"oldest: expected at least 0 versions, got {oldest}")
        self._capacity, self._half_life, self._oldest = capacity, half_life, oldest
        self._kept: list[_Kept[T]] = []
        self._random = random.Random(seed)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._kept)

    def add(self, item: T, version: int) -> None:
        """Keep an item that policy `version` made; the oldest goes if there are too many."""
        self._kept.append(_Kept(item, version))
        if len(self._kept) > self._capacity:
            self._kept.remove(min(self._kept, key=lambda kept: kept.version))

    def draw(self, count: int, version: int) -> list[T]:
        """Return up to `count` different items for the policy of `version`.

        Raises:
            ValueError: An item is of a later version.
        """
        if ahead := [kept.version for kept in self._kept if kept.version > version]:
            raise ValueError(f"the policy is at version {version}, but an item is of {max(ahead)}")
        self._kept = [kept for kept in self._kept if version - kept.version <= self._oldest]
        # Efraimidis and Spirakis 2006: the largest keys u ** (1 / w) are a weighted sample.
        keys = [
            self._random.random() ** (2.0 ** min((version - kept.version) / self._half_life, 1e3))
            for kept in self._kept
        ]
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=True)
        return [self._kept[index].item for index in order[:count]]

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed training run needs to draw the same items."""
        kept = [(kept.item, kept.version) for kept in self._kept]
        return {"kept": kept, "random": self._random.getstate()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`."""
        self._kept = [_Kept(item, version) for item, version in state["kept"]]
        self._random.setstate(state["random"])
