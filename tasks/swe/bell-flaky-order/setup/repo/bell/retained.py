"""The last messages of topics."""

from typing import Any

from bell.topics import check_topic, matches


class Retained:
    """Messages by topic."""

    def __init__(self) -> None:
        self._messages: dict[str, Any] = {}

    def keep(self, topic: str, message: Any) -> None:
        """Keep the last message of a topic; None removes what is kept."""
        if message is None:
            self._messages.pop(topic, None)
        else:
            self._messages[topic] = message

    def find(self, pattern: tuple[str, ...]) -> list[tuple[str, Any]]:
        """Return the topics that a pattern matches, with their messages."""
        topics = {topic for topic in self._messages if matches(pattern, check_topic(topic))}
        return [(topic, self._messages[topic]) for topic in topics]
