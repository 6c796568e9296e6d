"""Entries of a shelf."""

from dataclasses import dataclass, field


@dataclass
class Entry:
    value: object
    expires: float | None
    tags: frozenset[str] = field(default_factory=frozenset)

    def is_expired(self, now: float) -> bool:
        return self.expires is not None and now >= self.expires
