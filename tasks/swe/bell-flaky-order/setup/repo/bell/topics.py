"""Topics and patterns."""


class TopicError(ValueError):
    """A topic or a pattern is malformed."""


def check_topic(text: str) -> tuple[str, ...]:
    """Return the parts of a topic."""
    parts = tuple(text.split("/"))
    if not all(parts) or any(part in ("*", "#") for part in parts):
        raise TopicError(f"{text!r} is not a topic")
    return parts


def check_pattern(text: str) -> tuple[str, ...]:
    """Return the parts of a pattern."""
    parts = tuple(text.split("/"))
    if not all(parts) or "#" in parts[:-1]:
        raise TopicError(f"{text!r} is not a pattern")
    return parts


def matches(pattern: tuple[str, ...], topic: tuple[str, ...]) -> bool:
    """Return whether a pattern matches a topic."""
    for at, part in enumerate(pattern):
        if part == "#":
            return True
        if at == len(topic) or part not in ("*", topic[at]):
            return False
    return len(pattern) == len(topic)
