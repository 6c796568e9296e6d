"""Comparison of fields, of an answer or of a saved reply, with the values that a rubric expects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from agentgym.errors import VerifierError
from agentgym.verify.answer_values import fold
from agentgym.verify.matching import matcher
from agentgym.verify.values import brief, is_number


def field_matcher(
    name: str, wanted: Any, ordered: bool = False, reach: float = 0.0
) -> Callable[[Any], bool]:
    """Return the comparison of a field with its expected value.

    Args:
        name: Name of the field, for messages.
        wanted: The value; a list is compared as a set; a table is one of comparisons, as in rows,
            or `{ within = […] }`: a list of at least one of these values and no others.
        ordered: Whether order and repetitions of a list count.
        reach: Largest absolute difference of numbers.

    Raises:
        VerifierError: The expected value has the wrong form.
    """
    if isinstance(wanted, Mapping) and "within" in wanted:
        return _within(name, wanted, reach)
    if isinstance(wanted, Mapping):
        one = matcher(f"fields.{name}", wanted)
        return one.test
    if isinstance(wanted, (list, tuple)):
        tests = [_scalar(value, reach) for value in wanted]

        def same(seen: Any) -> bool:
            if not isinstance(seen, list | tuple) or (ordered and len(seen) != len(tests)):
                return False
            if ordered:
                return all(test(value) for test, value in zip(tests, seen, strict=True))
            found = all(any(test(value) for value in seen) for test in tests)
            return found and all(any(test(value) for test in tests) for value in seen)

        return same
    return _scalar(wanted, reach)


def _within(name: str, wanted: Mapping[str, Any], reach: float) -> Callable[[Any], bool]:
    """Return the test that a list has at least one value, and only such values."""
    if set(wanted) != {"within"} or not isinstance(wanted["within"], list | tuple):
        raise VerifierError(f"fields.{name}: expected {{ within = a list }}, got {dict(wanted)!r}")
    tests = [_scalar(value, reach) for value in wanted["within"]]

    def within(seen: Any) -> bool:
        if not isinstance(seen, list | tuple) or not seen:
            return False
        return all(any(test(value) for test in tests) for value in seen)

    return within


def _scalar(wanted: Any, reach: float) -> Callable[[Any], bool]:
    """Return the comparison with one plain value."""
    if not isinstance(wanted, (bool, int, float, str)):
        raise VerifierError(f"fields: expected text, a number, true or false, got {wanted!r}")
    if isinstance(wanted, bool):
        return lambda seen: seen is wanted

    def same(seen: Any) -> bool:
        if is_number(seen):
            number = _decimal(wanted)
            return number is not None and abs(Decimal(str(seen)) - number) <= Decimal(str(reach))
        return isinstance(seen, str) and fold(seen) == fold(str(wanted))

    return same


def _decimal(value: str | float) -> Decimal | None:
    try:
        return Decimal(str(value).strip())
    except InvalidOperation:
        return None


def show_value(value: Any) -> str:
    """Return a value for a message, in short."""
    if not isinstance(value, (list, tuple)):
        return json.dumps(value) if isinstance(value, Mapping) else brief(value)
    told = ", ".join(brief(one) for one in value[:8])
    return f"[{told}{', …' if len(value) > 8 else ''}]"
