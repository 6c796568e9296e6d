"""Parses Python that somebody else wrote, within bounds.

A tree takes almost two kilobytes for each statement, so two megabytes of text may become two
gigabytes. Python 3.11 looks for each field of an f-string from the beginning of the text, sorts the
combining marks of a name by insertion, and some codecs take quadratic time too; no other thread
runs meanwhile. Files that people write are far below the bounds.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
import warnings
from typing import Final

from agentgym.records.normalization import MOST_MARKS, stream_safe

MOST_CHARACTERS: Final = 4_000_000
MOST_WORDS: Final = 200_000
"""Largest number of words, numbers and signs, those of comments and texts included."""

_MOST_SEARCHED: Final = 10**8
"""Largest number of characters that are passed on the way to the fields of all f-strings."""

_WORD: Final = re.compile(r"\w+|[^\w\s]")
_LITERAL: Final = re.compile(
    r"""["#'](?:(?<=\#)[^\n]*+
    |(?<=")""(?:[^\\"]|\\.|"(?!""))*+(?:"{3})?|(?<=')''(?:[^\\']|\\.|'(?!''))*+(?:'{3})?
    |(?<=")(?:[^\\"\n]|\\.)*+"?|(?<=')(?:[^\\'\n]|\\.)*+'?)""",
    re.DOTALL | re.VERBOSE,
)
"""A comment or a text; both may be unfinished."""

_ASCII: Final = bytes(range(128))


class LargeSourceError(ValueError):
    """The text is too large to be parsed here, or made to take long."""


def parse_python(source: str | bytes) -> ast.Module:
    """Return the syntax tree of a text.

    Raises:
        LargeSourceError: It has too many words, marks or fields in f-strings, or an encoding in
            which ASCII means something else.
        SyntaxError, ValueError, RecursionError, MemoryError: It is not Python.
    """
    if len(source) > MOST_CHARACTERS:
        raise LargeSourceError(f"{len(source)} characters; expected at most {MOST_CHARACTERS}")
    text = _decoded(source) if isinstance(source, bytes) else source
    if next(itertools.islice(_WORD.finditer(text), MOST_WORDS, None), None):
        raise LargeSourceError(f"more than {MOST_WORDS} words")
    if stream_safe(text) != text:
        raise LargeSourceError(f"more than {MOST_MARKS} combining marks in a row")
    if sum(map(_searched, _LITERAL.finditer(text))) > _MOST_SEARCHED:
        raise LargeSourceError("f-strings with too many fields")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def shown_python(node: ast.AST) -> str:
    """Return a part of a syntax tree as text; only its kind if Python cannot write it.

    It may be nested too deeply, or hold a number of more digits than Python writes.
    """
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return type(node).__name__


def _decoded(source: bytes) -> str:
    """Return a file's text as Python reads it."""
    lines = io.BytesIO(re.sub(rb"\r\n?", b"\n", source))
    encoding, _ = tokenize.detect_encoding(lines.readline)
    try:
        plain = _ASCII.decode(encoding) == _ASCII.decode()
    except LookupError as error:
        raise SyntaxError(str(error)) from None
    except UnicodeError:
        plain = False
    if not plain:
        raise LargeSourceError(f"the encoding {encoding}")
    return source.decode(encoding)


def _searched(literal: re.Match[str]) -> int:
    """Return how many characters the parser passes to find the fields of a literal."""
    start = literal.start()
    if "f" not in literal.string[max(start - 2, 0) : start].lower():
        return 0
    return literal[0].count("{") * len(literal[0])
