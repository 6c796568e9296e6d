"""Finds the subscriptions that match a topic, without a look at all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bell.topics import matches

Handler = Callable[[str, Any], None]


@dataclass(frozen=True)
class Subscription:
    """A handler and its pattern. `name` is unique in a bus."""

    name: str
    pattern: tuple[str, ...]
    handler: Handler
    priority: int = 0


class Index:
    """Names of subscriptions by the first part of their patterns."""

    def __init__(self) -> None:
        self._subscriptions: dict[str, Subscription] = {}
        self._by_first: dict[str, set[str]] = {}

    def add(self, subscription: Subscription) -> None:
        self._subscriptions[subscription.name] = subscription
        self._by_first.setdefault(subscription.pattern[0], set()).add(subscription.name)

    def remove(self, name: str) -> None:
        subscription = self._subscriptions.pop(name)
        self._by_first[subscription.pattern[0]].discard(name)

    def __contains__(self, name: str) -> bool:
        return name in self._subscriptions

    def find(self, topic: tuple[str, ...]) -> list[Subscription]:
        """Return the subscriptions that match a topic, the next to be called first."""
        names: set[str] = set()
        for first in (topic[0], "*", "#"):
            names |= self._by_first.get(first, set())
        found = [self._subscriptions[name] for name in names]
        found = [each for each in found if matches(each.pattern, topic)]
        return sorted(found, key=lambda each: -each.priority)
