"""Tokens of a filter's text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from quern.errors import FilterError

KEYWORDS = frozenset({"and", "or", "not", "has", "always", "never"})
_PATTERN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<number>-?\d+(?:\.\d+)?(?![\w.-]))
  | (?P<word>[^\W\d][\w.-]*)
  | (?P<text>"(?:[^"\\]|\\.)*")
  | (?P<operator>!=|<=|>=|=|<|>|~)
  | (?P<bracket>[()])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A token; `value` is what a number or a quoted text stands for."""

    kind: Literal["number", "word", "keyword", "text", "operator", "bracket", "end"]
    text: str
    at: int
    value: str | int | float = ""


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text, with one of the kind `end` as the last.

    Raises:
        FilterError: A character begins no token.
    """
    at = 0
    while at < len(text):
        found = _PATTERN.match(text, at)
        if found is None:
            raise FilterError(f"unexpected {text[at]!r}", text, at)
        kind, part = found.lastgroup, found[0]
        if kind == "number":
            yield Token("number", part, at, float(part) if "." in part else int(part))
        elif kind == "text":
            yield Token("text", part, at, re.sub(r"\\(.)", r"\1", part[1:-1], flags=re.DOTALL))
        elif kind == "word":
            yield Token("keyword" if part in KEYWORDS else "word", part, at, part)
        elif kind != "space":
            yield Token(kind, part, at)
        at = found.end()
    yield Token("end", "", at)
