"""The patterns of a ``.dockerignore``, matched name by name, so that no pattern takes long.

The rules are Docker's: the last pattern that matches decides, ``!`` includes again, and ``**``
stands for any number of folders. Between other characters it stays within one name.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from typing import Final

_ANY: Final = None
"""The part of a pattern that stands for any number of folders."""
_MOST_RULES: Final = 1_000
MOST_CHARACTERS: Final = 1_000
"""Longest pattern of a name; to translate one takes time that grows with its square."""
_Parts = tuple["re.Pattern[str] | None", ...]


class IgnoreRules:
    """The rules of one file.

    Args:
        text: Its text.

    Raises:
        ValueError: It has too many patterns, or too long ones.
    """

    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in text.splitlines()]
        wanted = [line for line in lines if line and not line.startswith("#")]
        if len(wanted) > _MOST_RULES:
            raise ValueError(
                f".dockerignore: {len(wanted)} patterns; expected at most {_MOST_RULES}"
            )
        self._rules = [(_parts(line.lstrip("!")), line.startswith("!")) for line in wanted]

    def ignores(self, name: str) -> bool:
        """Return whether a path relative to the folder of the file is left out."""
        names = name.split("/")
        ignored = False
        for parts, keeps in self._rules:
            if ignored == keeps and _matches(parts, names):
                ignored = not keeps
        return ignored


def _parts(pattern: str) -> _Parts:
    normal = os.path.normpath(pattern.strip()).lstrip("/")
    found: list[re.Pattern[str] | None] = []
    for part in normal.split("/"):
        if len(part) > MOST_CHARACTERS:
            raise ValueError(f".dockerignore: {part[:40]!r}… is longer than {MOST_CHARACTERS}")
        if part.startswith("**") and (not found or found[-1] is not _ANY):
            found.append(_ANY)
        if part.strip("*") or not part.startswith("**"):
            # Its expressions do not backtrack, however many stars there are.
            found.append(re.compile(fnmatch.translate(_in_python(part))))
    return tuple(found)


def _in_python(part: str) -> str:
    """Return a pattern of Go for `fnmatch`, which knows neither ``[^a]`` nor backslashes."""

    def replace(found: re.Match[str]) -> str:
        character = found[1]
        if character is None:
            return "[!"
        return f"[{character}]" if character in "*?[" else character

    return re.sub(r"\\(.)|\[\^", replace, part)


def _matches(parts: _Parts, names: Sequence[str]) -> bool:
    """Return whether a pattern matches a path or a folder above it."""
    reached = _with_empty(parts, {0})
    for name in names:
        following: set[int] = set()
        for at in reached:
            part = parts[at]
            if part is _ANY:
                following |= {at, at + 1} if at + 1 == len(parts) else {at}
            elif part.match(name):
                following.add(at + 1)
        if len(parts) in following:
            return True
        reached = _with_empty(parts, following)
    return False


def _with_empty(parts: _Parts, reached: set[int]) -> set[int]:
    """Add the places that are reached if ``**`` stands for no folder; at the end it needs one."""
    more = {at + 1 for at in reached if parts[at] is _ANY and at + 1 < len(parts)}
    return reached | more
