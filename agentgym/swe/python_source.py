"""Parses Python that somebody else wrote, within bounds.

A tree takes almost two kilobytes for each statement, so two megabytes of text may become two
gigabytes. Files that people write have far fewer words than the bound.
"""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from typing import Final

MOST_CHARACTERS: Final = 4_000_000
MOST_WORDS: Final = 200_000
"""Largest number of words, numbers and signs, those of comments and texts included."""

_WORD: Final = re.compile(r"\w+|[^\w\s]")


class LargeSourceError(ValueError):
    """The text is too large to be parsed here."""


def parse_python(source: str | bytes) -> ast.Module:
    """Return the syntax tree of a text.

    Raises:
        LargeSourceError: It has too many words.
        SyntaxError, ValueError, RecursionError, MemoryError: It is not Python.
    """
    if len(source) > MOST_CHARACTERS:
        raise LargeSourceError(f"{len(source)} characters; expected at most {MOST_CHARACTERS}")
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    if next(itertools.islice(_WORD.finditer(text), MOST_WORDS, None), None):
        raise LargeSourceError(f"more than {MOST_WORDS} words")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
