"""Path patterns: fixed text and slots."""

import re
from typing import Any

_SLOT = re.compile(r"\{(\w+)(?::(\w+))?\}")
_KINDS = {"str": r"[^/]+", "int": r"\d+", "path": r".+"}


class Pattern:
    """A path with slots, such as `/books/{number:int}`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._kinds: dict[str, str] = {}
        parts, end = [], 0
        for found in _SLOT.finditer(text):
            name, kind = found[1], found[2] or "str"
            if kind not in _KINDS:
                raise ValueError(f"{text}: unknown kind of slot {kind!r}")
            if name in self._kinds:
                raise ValueError(f"{text}: two slots named {name!r}")
            self._kinds[name] = kind
            parts += [re.escape(text[end : found.start()]), f"(?P<{name}>{_KINDS[kind]})"]
            end = found.end()
        parts.append(re.escape(text[end:]))
        self._regex = re.compile("".join(parts))

    def match(self, path: str) -> dict[str, Any] | None:
        """Return the values of the slots; None if the path is another one."""
        found = self._regex.fullmatch(path)
        if found is None:
            return None
        return {
            name: int(value) if self._kinds[name] == "int" else value
            for name, value in found.groupdict().items()
        }

    def rank(self) -> tuple[int, ...]:
        """Patterns with a smaller rank go first: fixed text before slots, part by part."""
        order = {"int": 1, "str": 2, "path": 3}
        ranks = []
        for part in self.text.split("/"):
            found = _SLOT.search(part)
            ranks.append(order[found[2] or "str"] if found else 0)
        return tuple(ranks)
