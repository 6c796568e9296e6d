r"""Makes recorded text of an agent or a sandbox safe to show.

A terminal obeys control characters (ECMA-48), a browser reorders at bidirectional ones (UAX #9).
Both are written as Python escapes: ``\x1b``, ``\u202e``.
"""

from __future__ import annotations

import json
import re

from agentgym.records import Json

# Colours are removed, because their escapes would only be noise here.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# C0 and C1 controls except tab and line feed, bidirectional controls, lone surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    r"""Escape every character that a terminal or a browser would obey, or cannot show.

    Example:
        >>> clean("\x1b[31mred\x1b[0m \x1b]0;title\x07")
        'red \\x1b]0;title\\x07'
    """
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], _COLOURS.sub("", text))


def as_text(value: Json) -> str:
    """Return a text unchanged, and any other value as JSON."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be shown)"
