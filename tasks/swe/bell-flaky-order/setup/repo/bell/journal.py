"""A journal of deliveries."""


class Journal:
    """Lines `topic -> names`, one a message."""

    def __init__(self) -> None:
        self._deliveries: list[tuple[str, set[str]]] = []

    def begin(self, topic: str) -> set[str]:
        """Begin a line; the names that are added to the result belong to it."""
        names: set[str] = set()
        self._deliveries.append((topic, names))
        return names

    def lines(self) -> list[str]:
        return [f"{topic} -> {', '.join(names) or 'nobody'}" for topic, names in self._deliveries]
