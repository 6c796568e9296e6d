"""Rules: how often, on which days, at which time."""

import re
from dataclasses import dataclass
from datetime import time

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_PATTERN = re.compile(
    r"(?:(?P<yearly>yearly)|(?P<monthly>monthly)|every (?:(?P<count>\d+) )?(?P<unit>day|week|month)s?)"
    r"(?: on (?P<on>[\w, ]+?))? at (?P<hour>\d\d?):(?P<minute>\d\d)"
)


class RuleError(ValueError):
    """A text is no rule."""


@dataclass(frozen=True)
class Rule:
    """A rule. `unit` is day, week, month or year; `on` holds weekdays (Monday is 0), or a day of the month."""

    unit: str
    count: int
    on: tuple[int, ...]
    at: time


def read_rule(text: str) -> Rule:
    """Return the rule of a text.

    Raises:
        RuleError: The text is not a rule.
    """
    found = _PATTERN.fullmatch(text.strip().lower())
    if found is None:
        raise RuleError(f"no rule: {text!r}")
    unit = "year" if found["yearly"] else "month" if found["monthly"] else found["unit"]
    count = int(found["count"] or 1)
    try:
        at = time(int(found["hour"]), int(found["minute"]))
        on = _on(unit, found["on"])
    except (ValueError, KeyError) as error:
        raise RuleError(f"{text!r}: {error}") from None
    if count < 1:
        raise RuleError(f"{text!r}: every 0 {unit}s")
    return Rule(unit, count, on, at)


def _on(unit: str, text: str | None) -> tuple[int, ...]:
    if unit in ("day", "year"):
        if text is not None:
            raise ValueError(f"a rule by {unit} has no 'on'")
        return ()
    if text is None:
        raise ValueError(f"a rule by {unit} needs 'on'")
    if unit == "week":
        return tuple(sorted({WEEKDAYS.index(part.strip()) for part in text.split(",")}))
    day = int(text)
    if not 1 <= day <= 31:
        raise ValueError(f"no day of a month: {day}")
    return (day,)
