"""Texts that keep a backtracking matcher busy, made from a check's patterns.

For each unbounded repeat in a pattern, the text has a prefix that leads to it, many repetitions,
and something that it does not match. The parse tree is the standard library's own.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from re import _constants as code
from re import _parser as parser
from typing import Any

PUMPED_CHARS = 20_000
_CATEGORIES = {
    code.CATEGORY_DIGIT: "5",
    code.CATEGORY_SPACE: " ",
    code.CATEGORY_WORD: "a",
    code.CATEGORY_NOT_DIGIT: "a",
    code.CATEGORY_NOT_SPACE: "a",
    code.CATEGORY_NOT_WORD: "-",
}
_REPEATS = (code.MAX_REPEAT, code.MIN_REPEAT)
_STOP = "\x01"


def pumped(pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield texts that could keep a search for a pattern busy, each `PUMPED_CHARS` long."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    for before, body in _repeats(list(tree)):
        unit = _sample(body) or "a"
        yield before + unit * (PUMPED_CHARS // len(unit)) + _STOP


def _repeats(tree: list[Any], before: str = "") -> Iterator[tuple[str, list[Any]]]:
    for op, value in tree:
        if op in _REPEATS:
            _, most, body = value
            if most is code.MAXREPEAT:
                yield before, list(body)
            yield from _repeats(list(body), before)
        elif op is code.SUBPATTERN:
            yield from _repeats(list(value[-1]), before)
        elif op is code.BRANCH:
            for branch in value[1]:
                yield from _repeats(list(branch), before)
        before += _sample([(op, value)])


def _sample(tree: list[Any]) -> str:
    """Return a short text that a part of a pattern matches, at least nearly."""
    found = ""
    for op, value in tree:
        if op is code.LITERAL:
            found += chr(value)
        elif op in (code.ANY, code.NOT_LITERAL):
            found += "a"
        elif op is code.IN:
            found += _member(value)
        elif op in _REPEATS:
            found += _sample(list(value[2])) * max(1, min(value[0], 3))
        elif op is code.SUBPATTERN:
            found += _sample(list(value[-1]))
        elif op is code.BRANCH:
            found += _sample(list(value[1][0]))
    return found


def _member(items: list[Any]) -> str:
    if items and items[0][0] is code.NEGATE:
        taken = {chr(value) for op, value in items[1:] if op is code.LITERAL}
        return next(c for c in "a5 -_.~^" if c not in taken or c == "^")
    op, value = items[0]
    if op is code.LITERAL:
        return chr(value)
    if op is code.RANGE:
        return chr(value[0])
    return _CATEGORIES.get(value, "a")


@contextlib.contextmanager
def compiled() -> Iterator[dict[tuple[str, int], re.Pattern[str]]]:
    """Collect the texts of patterns that are compiled or used in this context."""
    found: dict[tuple[str, int], re.Pattern[str]] = {}
    compile_one: Callable[..., Any] = vars(re)["_compile"]

    def noting(pattern: Any, flags: int) -> Any:
        made = compile_one(pattern, flags)
        note(found, made)
        return made

    setattr(re, "_compile", noting)  # noqa: B010 - mypy knows no such name
    try:
        yield found
    finally:
        setattr(re, "_compile", compile_one)  # noqa: B010


def note(found: dict[tuple[str, int], re.Pattern[str]], value: object) -> None:
    """Add a value if it is the text of a pattern."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        found[value.pattern, value.flags] = value
