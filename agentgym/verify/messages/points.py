"""Points of a list that stand on one line: "1. the number 2. the address", "(a) … (b) …"."""

from __future__ import annotations

import re
from typing import Final

_FORMS: Final = (r"\({}\)", r"{}\)", r"{}\.")
_MONTH: Final = r"(?!(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b)"
_LABELS: Final = ("123456789", "abcdefghi")


def split_points(line: str) -> list[str]:
    """Split a line of plain text before each of its points; two points at least make a list.

    Example:
        >>> split_points("i need: 1. the number 2. the address")
        ['i need:', '1. the number', '2. the address']
        >>> split_points("it is 1. march or 2. april")
        ['it is 1. march or 2. april']
    """
    for labels in _LABELS:
        for form in _FORMS:
            starts = _starts(line, labels, form)
            if len(starts) > 1:
                cuts = [0, *starts, len(line)]
                parts = [line[a:b].strip() for a, b in zip(cuts, cuts[1:], strict=False)]
                return _as_list([part.rstrip(",") for part in parts if part], starts[0] > 0)
    return [line]


def _as_list(parts: list[str], is_led: bool) -> list[str]:
    """End the words before the points with the sign that a list on lines of its own would have."""
    if is_led and parts[0][-1].isalnum():
        return [parts[0] + ("?" if parts[-1].endswith("?") else ":"), *parts[1:]]
    return parts


def _starts(line: str, labels: str, form: str) -> list[int]:
    """Return where the points begin whose labels follow on one another from the first."""
    starts: list[int] = []
    place = 0
    for label in labels:
        mark = form.format(label)
        match = re.compile(rf"(?:^|(?<=\s)){mark}\s+{_MONTH}(?=[a-z\"'])").search(line, place)
        if match is None:
            break
        starts.append(match.start())
        place = match.end()
    return starts
