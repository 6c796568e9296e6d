"""Argument types that tools of many services share, checked before a method is called."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import Field

from agentgym.errors import ServiceError

Email = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._%+'-]{0,63}@[a-z0-9-]+(\.[a-z0-9-]+)+$", max_length=254
    ),
]
"""An e-mail address; its domain is in lower case."""

Day = Annotated[str, Field(pattern=r"^20\d{2}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$")]
"""A day as ``2026-03-02``; the method must check that the month has this day."""

Tag = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")]
"""A short word that labels an item."""

Limit = Annotated[int, Field(ge=1, le=100)]
"""Largest number of items to return."""

Offset = Annotated[int, Field(ge=0, le=100_000)]
"""Number of items to skip first."""

MAX_WORDS = 20
MAX_SEARCH = 1_000

_SPELT_OUT = {ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue", ord("ł"): "l"}


def search_words(text: str, field: str = "text") -> list[str]:
    """Return the words of a search; each word costs a look at every row.

    Example:
        >>> search_words(" blue  kettle ")
        ['blue', 'kettle']

    Raises:
        ServiceError: The words are too many, or too long.
    """
    if len(text) > MAX_SEARCH:
        raise ServiceError(
            "invalid", f"{len(text):,} characters; expected at most {MAX_SEARCH:,}", field
        )
    words = text.split()
    if len(words) > MAX_WORDS:
        raise ServiceError("invalid", f"{len(words)} words; expected at most {MAX_WORDS}", field)
    return words


def plain_letters(name: str) -> str:
    """Return a name as addresses and handles spell it: lower case, without accents or blanks.

    Example:
        >>> plain_letters("Zoë O'Brien-König")
        'zoeobrien-koenig'
    """
    marked = unicodedata.normalize("NFKD", name.lower().translate(_SPELT_OUT))
    return "".join(letter for letter in marked if letter.isascii() and letter not in "' ")
