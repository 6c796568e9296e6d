"""Value matchers: the small language in which rubrics describe rows and arguments.

A plain value matches itself. A table of comparisons describes a value that is not known exactly;
all comparisons have to hold.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from agentgym.errors import NotFoundError, VerifierError
from agentgym.records import Json
from agentgym.verify.values import Comparison, brief, is_number

_TEXT_CHARS: Final = 64 * 2**10
_SAME: Final = Comparison()

_Test: TypeAlias = Callable[[object], bool]


def normal(text: str) -> str:
    """Return text in the form for comparisons that ignore case, width and spacing.

    Unicode NFKC, case folded, runs of white space one space.
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True, slots=True)
class Matcher:
    """A description of one value.

    Attributes:
        shown: The description in messages.
        test: Returns whether a value matches.
        plain: The value if only this exact value matches, so that an index can find it.
        closed: Whether it leaves no part of a text open, as `contains` and `matches` do.
    """

    shown: str
    test: _Test
    plain: str | int | None = None
    closed: bool = True

    def __str__(self) -> str:
        return self.shown


def matcher(name: str, wanted: object) -> Matcher:
    """Read the description of a value from a rubric.

    Args:
        name: Name of the column or argument, for messages.
        wanted: A plain value that has to be equal: a number equals a number of any type, and in a
            column, which has no truth values, true is 1 and false is 0. Or a table of `is`, `not`,
            `one_of`, `null`, `contains`, `normal`, `matches`, `whole`, `at_least`, `at_most`.

    Raises:
        VerifierError: It is neither.
    """
    if not isinstance(wanted, Mapping):
        plain = wanted if isinstance(wanted, (str, int)) else None
        return Matcher(_show(wanted), _is(wanted), None if isinstance(plain, bool) else plain)
    if not wanted:
        raise VerifierError(f"{name}: expected a value or a table of {', '.join(_TESTS)}, got {{}}")
    tests = []
    for how, value in wanted.items():
        if how not in _TESTS:
            raise VerifierError(f"{name}: {NotFoundError('comparison', how, _TESTS)}")
        tests.append(_TESTS[how](f"{name}.{how}", value))
    shown = " and ".join(f"{how} {_show(value)}" for how, value in wanted.items())
    closed = any(_is_closed(how, value) for how, value in wanted.items())
    return Matcher(shown, lambda seen: all(test(seen) for test in tests), closed=closed)


def matchers(what: str, wanted: object) -> dict[str, Matcher]:
    """Read the descriptions of several values from a rubric, by name.

    Raises:
        VerifierError: It is not a table, or holds something that is neither value nor comparison.
    """
    if not isinstance(wanted, Mapping):
        raise VerifierError(f"{what}: expected a table, got {wanted!r}")
    return {name: matcher(f"{what}.{name}", value) for name, value in wanted.items()}


def fits(values: Mapping[str, object], wanted: Mapping[str, Matcher]) -> bool:
    """Return whether all these values exist and match."""
    return all(name in values and one.test(values[name]) for name, one in wanted.items())


def show_matchers(wanted: Mapping[str, Matcher]) -> str:
    """Return e.g. ``status 'closed', id 17``."""
    return ", ".join(f"{name} {one}" for name, one in wanted.items())


def _is(wanted: Any) -> _Test:
    if isinstance(wanted, bool):
        # Only a column has 0 and 1 for truth values; in arguments, true is a value of its own.
        return lambda seen: type(seen) in (bool, int) and seen == wanted
    return lambda seen: not _SAME.difference(seen, wanted)


def _equal(name: str, value: object) -> _Test:
    return _is(value)


def _differs(name: str, value: object) -> _Test:
    inner = matcher(name, value).test
    return lambda seen: not inner(seen)


def _one_of(name: str, values: object) -> _Test:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise VerifierError(f"{name}: expected a list of values, got {values!r}")
    tests = [matcher(name, value).test for value in values]
    return lambda seen: any(test(seen) for test in tests)


def _null(name: str, value: object) -> _Test:
    if not isinstance(value, bool):
        raise VerifierError(f"{name}: expected true or false, got {value!r}")
    return lambda seen: (seen is None) is value


def _contains(name: str, value: object) -> _Test:
    wanted = normal(_text(name, value))
    return lambda seen: isinstance(seen, str) and wanted in normal(seen)


def _normal(name: str, value: object) -> _Test:
    wanted = normal(_text(name, value))
    return lambda seen: isinstance(seen, str) and wanted == normal(seen)


def _matches(name: str, value: object) -> _Test:
    try:
        pattern = re.compile(_text(name, value), re.MULTILINE)
    except re.error as error:
        raise VerifierError(f"{name} = {value!r}: {error}") from None
    # The time that a regular expression takes can grow with the square of the text.
    return lambda seen: (
        isinstance(seen, str) and len(seen) <= _TEXT_CHARS and bool(pattern.search(seen))
    )


def _whole(name: str, value: object) -> _Test:
    try:
        pattern = re.compile(_text(name, value), re.IGNORECASE)
    except re.error as error:
        raise VerifierError(f"{name} = {value!r}: {error}") from None
    return lambda seen: (
        isinstance(seen, str)
        and len(seen) <= _TEXT_CHARS
        and bool(pattern.fullmatch(" ".join(unicodedata.normalize("NFKC", seen).split())))
    )


def _is_closed(how: str, value: object) -> bool:
    if how == "one_of" and isinstance(value, Sequence):
        return all(matcher(how, one).closed for one in value)
    return how in ("is", "normal", "whole")


def _bound(holds: Callable[[Any, Any], bool]) -> Callable[[str, object], _Test]:
    def make(name: str, value: object) -> _Test:
        if not (is_number(value) or isinstance(value, str)):
            raise VerifierError(f"{name}: expected a number or text such as a date, got {value!r}")
        kind = is_number if is_number(value) else _is_text
        return lambda seen: kind(seen) and holds(seen, value)

    return make


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise VerifierError(f"{name}: expected text, got {value!r}")
    return value


_TESTS: Final[Mapping[str, Callable[[str, object], _Test]]] = {
    "is": _equal,
    "not": _differs,
    "one_of": _one_of,
    "null": _null,
    "contains": _contains,
    "normal": _normal,
    "matches": _matches,
    "whole": _whole,
    "at_least": _bound(lambda seen, bound: seen >= bound),
    "at_most": _bound(lambda seen, bound: seen <= bound),
}


def _show(value: Json | object) -> str:
    if isinstance(value, (Mapping, list, tuple)) and len(str(value)) <= 80:
        return str(value)
    return brief(value)
