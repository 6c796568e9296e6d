"""Comparison of plain values: the meaning of "equal" in check packs, and short differences.

The module owns number tolerance, order and the short messages. Values are those of JSON: a number
equals a number of any type, but never a truth value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from agentgym.errors import VerifierError
from agentgym.records import CheckResult, CheckStatus, Json

MOST_TOLERANT = 300
"""Maximum number of elements compared in any order with a tolerance; pairing them is cubic."""

_BRIEF_CHARS = 120


def result(passed: bool, message: str) -> CheckResult:
    """Return a pass or a fail with its message."""
    return CheckResult(CheckStatus.PASS if passed else CheckStatus.FAIL, message)


def brief(value: object) -> str:
    """Return a value in at most about 120 characters; of lists and objects only the size."""
    if isinstance(value, Mapping):
        return f"an object of {len(value)}"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    short = text if len(text) <= _BRIEF_CHARS else text[: _BRIEF_CHARS - 1] + "…"
    return repr(short) if isinstance(value, str) else short


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number of JSON; true and false are not numbers."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Bounds:
    """An expected count: a minimum, and a maximum if it is given."""

    at_least: int
    at_most: int | None = None

    def __post_init__(self) -> None:
        """Refuse invalid bounds.

        Raises:
            VerifierError: A bound is not an integer, or the minimum is below 0 or above the
                maximum.
        """
        least = 0
        for name in ("at_least", "at_most"):
            count = getattr(self, name)
            if name == "at_most" and count is None:
                continue
            if not isinstance(count, int) or isinstance(count, bool) or count < least:
                raise VerifierError(f"{name}: expected a whole number >= {least}, got {count!r}")
            least = count

    def __str__(self) -> str:
        most = "" if self.at_most is None else f" and at most {self.at_most}"
        return f"at least {self.at_least}{most}"

    def hold(self, count: int) -> bool:
        """Return whether a count is within the bounds."""
        return self.at_least <= count and (self.at_most is None or count <= self.at_most)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The meaning of equality for one check.

    Attributes:
        tolerance: Largest absolute difference of two equal numbers.
        any_order: Lists are compared as multisets, at every depth.
    """

    tolerance: float = 0.0
    any_order: bool = False

    def __post_init__(self) -> None:
        """Refuse an invalid tolerance.

        Raises:
            VerifierError: It is negative, not finite or not a number.
        """
        if not is_number(self.tolerance) or not 0 <= self.tolerance < float("inf"):
            raise VerifierError(f"tolerance: expected a number >= 0, got {self.tolerance!r}")

    def difference(self, seen: object, wanted: Json, where: str = "") -> str:
        """Describe the first difference of two values; empty if they are equal.

        Args:
            seen: The agent's value. It is followed only as deep as `wanted`.
            wanted: The expected value.
            where: Path of both, for the message: ``.servers[0]``.

        Raises:
            VerifierError: More than `MOST_TOLERANT` elements in any order with a tolerance.
        """
        at = where or "top"
        if isinstance(wanted, Mapping) and isinstance(seen, Mapping):
            if odd := sorted(map(str, seen.keys() ^ wanted.keys())):
                what = "lacks" if odd[0] in wanted else "has unexpected"
                return f"{at}: {what} key {brief(odd[0])}"
            parts = [(seen[key], wanted[key], f"{where}.{key}") for key in wanted]
        elif _is_list(wanted) and _is_list(seen):
            if len(seen) != len(wanted):
                return f"{at}: has {len(seen)} elements, expected {len(wanted)}"
            if self.any_order:
                return self._any_order(seen, wanted, at)
            pairs = enumerate(zip(seen, wanted, strict=True))
            parts = [(a, b, f"{where}[{i}]") for i, (a, b) in pairs]
        elif self._same(seen, wanted):
            return ""
        else:
            return f"{at}: expected {brief(wanted)}, got {brief(seen)}"
        return next(filter(None, (self.difference(*part) for part in parts)), "")

    def _same(self, seen: object, wanted: object) -> bool:
        if is_number(seen) and is_number(wanted):
            return seen == wanted or _distance(seen, wanted) <= self.tolerance
        return isinstance(seen, bool) is isinstance(wanted, bool) and seen == wanted

    def _any_order(self, seen: Sequence[object], wanted: Sequence[Json], at: str) -> str:
        if not self.tolerance:
            have, need = Counter(map(_key, seen)), Counter(map(_key, wanted))
            missing = next((w for w in wanted if have[_key(w)] < need[_key(w)]), None)
            return "" if have == need else f"{at}: lacks {_show(missing)}, in whatever order"
        if len(wanted) > MOST_TOLERANT:
            raise VerifierError(
                f"any_order with a tolerance takes at most {MOST_TOLERANT} elements, "
                f"got {len(wanted)}; use only one of the two"
            )
        fits = [[not self.difference(s, w) for s in seen] for w in wanted]
        lonely = _unmatched(fits)
        return "" if lonely is None else f"{at}: lacks {_show(wanted[lonely])}, in whatever order"


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _distance(a: float, b: float) -> float:
    try:
        return abs(a - b)
    except OverflowError:  # an integer beyond every float, against a float
        return float("inf")


def _key(value: object) -> Hashable:
    """Return a key that equal values share and no others; order in lists does not count."""
    if isinstance(value, Mapping):
        return "object", frozenset((key, _key(inner)) for key, inner in value.items())
    if _is_list(value):
        return "list", frozenset(Counter(map(_key, value)).items())
    return isinstance(value, bool), value if isinstance(value, Hashable) else repr(value)


def _show(value: Json) -> str:
    return brief(json.dumps(value, ensure_ascii=False, default=str))


def _unmatched(fits: Sequence[Sequence[bool]]) -> int | None:
    """Return a row that stays without a column in every pairing of rows and columns.

    Augmenting paths (Kuhn 1955), breadth first.
    """
    owner: dict[int, int] = {}
    for row in range(len(fits)):
        came_from: dict[int, int] = {}  # column -> the row that reached it
        waiting, free = [row], None
        for current in waiting:
            for column, fit in enumerate(fits[current]):
                if not fit or column in came_from:
                    continue
                came_from[column] = current
                if column not in owner:
                    free = column
                    break
                waiting.append(owner[column])
            if free is not None:
                break
        if free is None:
            return row
        column = free
        while True:
            taker = came_from[column]
            previous = next((c for c, r in owner.items() if r == taker), None)
            owner[column] = taker
            if taker == row:
                break
            assert previous is not None
            column = previous
    return None
