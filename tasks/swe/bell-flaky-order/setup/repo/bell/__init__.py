"""Events within one process."""

from bell.bus import Bus
from bell.topics import TopicError

__all__ = ["Bus", "TopicError"]
