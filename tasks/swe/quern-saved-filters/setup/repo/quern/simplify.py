"""Shorter filters that match the same records."""

from collections.abc import Iterable

from quern.nodes import And, Comparison, Constant, Filter, Not, Or
from quern.text import to_text

_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def simplify(node: Filter) -> Filter:
    """Return a shorter filter.

    `not` goes to the inside and cancels out, nested `and` and `or` are flattened, repetitions and
    parts that are covered by others are left out, and constants disappear.
    """
    if isinstance(node, Not):
        return _negate(simplify(node.part))
    if isinstance(node, And):
        return _join(And, [simplify(part) for part in node.parts])
    if isinstance(node, Or):
        return _join(Or, [simplify(part) for part in node.parts])
    return node


def _negate(node: Filter) -> Filter:
    if isinstance(node, Constant):
        return Constant(not node.value)
    if isinstance(node, Not):
        return node.part
    if isinstance(node, Comparison) and node.operator in _OPPOSITE:
        return Comparison(node.field, _OPPOSITE[node.operator], node.value)
    if isinstance(node, And):
        return _join(Or, [_negate(part) for part in node.parts])
    if isinstance(node, Or):
        return _join(And, [_negate(part) for part in node.parts])
    return Not(node)


def _join(kind: type[And] | type[Or], parts: Iterable[Filter]) -> Filter:
    """Join simplified parts by `and` or `or`."""
    empty, ending = Constant(kind is And), Constant(kind is Or)
    flat: list[Filter] = []
    for part in parts:
        flat += part.parts if isinstance(part, kind) else [part]
    kept: dict[str, Filter] = {}
    for part in flat:
        if part == ending:
            return ending
        if part != empty:
            kept.setdefault(to_text(part).lower(), part)
    if kind is And and _contradicts(kept.values()):
        return ending
    left = _without_covered(kind, list(kept.values()))
    if not left:
        return empty
    return left[0] if len(left) == 1 else kind(tuple(left))


def _contradicts(parts: Iterable[Filter]) -> bool:
    """Return whether a field would have to be two things at once."""
    wanted: dict[str, object] = {}
    for part in parts:
        if isinstance(part, Comparison) and part.operator == "=":
            if wanted.setdefault(part.field, part.value) != part.value:
                return True
    return False


def _without_covered(kind: type[And] | type[Or], parts: list[Filter]) -> list[Filter]:
    """Leave out `a and b` beside `a` in an `or`, and `a or b` beside `a` in an `and`."""
    other = Or if kind is And else And
    return [
        part
        for part in parts
        if not (isinstance(part, other) and any(each in parts for each in part.parts))
    ]
