"""Filters, and which records they match."""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Value = str | int | float
Record = Mapping[str, Any]

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "~": lambda found, wanted: wanted.casefold() in found.casefold(),
}


class Filter:
    """A condition on records."""

    def matches(self, record: Record) -> bool:
        raise NotImplementedError

    def __str__(self) -> str:
        from quern.text import to_text

        return to_text(self)


@dataclass(frozen=True)
class Constant(Filter):
    value: bool

    def matches(self, record: Record) -> bool:
        return self.value


@dataclass(frozen=True)
class Has(Filter):
    field: str

    def matches(self, record: Record) -> bool:
        return record.get(self.field) not in (None, [])


@dataclass(frozen=True)
class Comparison(Filter):
    field: str
    operator: str
    value: Value

    def matches(self, record: Record) -> bool:
        found = record.get(self.field)
        elements = found if isinstance(found, list) else [found]
        return any(self._matches_one(element) for element in elements)

    def _matches_one(self, found: Any) -> bool:
        is_text = isinstance(self.value, str)
        if isinstance(found, bool) or not isinstance(found, str if is_text else (int, float)):
            return False
        if self.operator == "~" and not is_text:
            return False
        return _COMPARE[self.operator](found, self.value)


@dataclass(frozen=True)
class Not(Filter):
    part: Filter

    def matches(self, record: Record) -> bool:
        return not self.part.matches(record)


@dataclass(frozen=True)
class And(Filter):
    parts: tuple[Filter, ...]

    def matches(self, record: Record) -> bool:
        return all(part.matches(record) for part in self.parts)


@dataclass(frozen=True)
class Or(Filter):
    parts: tuple[Filter, ...]

    def matches(self, record: Record) -> bool:
        return any(part.matches(record) for part in self.parts)


def walk(node: Filter) -> Iterator[Filter]:
    """Yield a filter and all filters in it."""
    yield node
    if isinstance(node, Not):
        yield from walk(node.part)
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from walk(part)


def names(node: Filter) -> list[str]:
    """Return the fields that a filter looks at, sorted."""
    return sorted({each.field for each in walk(node) if isinstance(each, Comparison | Has)})
