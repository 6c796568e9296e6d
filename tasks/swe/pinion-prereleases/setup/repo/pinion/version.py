"""Versions."""

import re
from functools import total_ordering

_PATTERN = re.compile(r"(\d+(?:\.\d+)*)(?:(a|b|rc)(\d+))?")


class VersionError(ValueError):
    """A text is no version."""


@total_ordering
class Version:
    """A version; `text` is how it was written."""

    def __init__(self, text: str) -> None:
        found = _PATTERN.fullmatch(text.strip())
        if found is None:
            raise VersionError(f"no version: {text!r}")
        self.text = text.strip()
        self.numbers = tuple(int(part) for part in found[1].split("."))
        self.pre = f"{found[2]}{found[3]}" if found[2] else ""

    @property
    def is_prerelease(self) -> bool:
        return bool(self.pre)

    def _key(self) -> tuple[object, ...]:
        return (self.numbers, not self.pre, self.pre)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key() == other._key()

    def __lt__(self, other: "Version") -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Version({self.text!r})"
