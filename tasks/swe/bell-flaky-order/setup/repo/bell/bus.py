"""The bus."""

from typing import Any

from bell.index import Handler, Index, Subscription
from bell.journal import Journal
from bell.retained import Retained
from bell.topics import check_pattern, check_topic


class Bus:
    """Delivers messages to the subscribers of their topics."""

    def __init__(self) -> None:
        self._index = Index()
        self._retained = Retained()
        self._journal = Journal()
        self.errors: list[tuple[str, Exception]] = []

    def subscribe(self, pattern: str, handler: Handler, *, name: str, priority: int = 0) -> None:
        """Call a handler for each message whose topic matches; retained messages come at once."""
        if name in self._index:
            raise ValueError(f"{name}: subscribed already")
        subscription = Subscription(name, check_pattern(pattern), handler, priority)
        self._index.add(subscription)
        for topic, message in self._retained.find(subscription.pattern):
            self._deliver(topic, message, [subscription])

    def unsubscribe(self, name: str) -> None:
        if name not in self._index:
            raise ValueError(f"{name}: not subscribed")
        self._index.remove(name)

    def publish(self, topic: str, message: Any, *, retain: bool = False) -> int:
        """Deliver a message; return to how many subscribers."""
        found = self._index.find(check_topic(topic))
        if retain:
            self._retained.keep(topic, message)
        return self._deliver(topic, message, found)

    def journal(self) -> list[str]:
        """Return what was delivered, one line a message."""
        return self._journal.lines()

    def _deliver(self, topic: str, message: Any, subscriptions: list[Subscription]) -> int:
        names = self._journal.begin(topic)
        for subscription in subscriptions:
            names.add(subscription.name)
            try:
                subscription.handler(topic, message)
            except Exception as error:
                self.errors.append((subscription.name, error))
        return len(subscriptions)
