"""Lines of a CSV file (RFC 4180) without the quotes that it does not need.

Reports are often compared line by line. A program that quotes every field writes the same table, so
checks read the lines through `plain_lines` first.
"""

from __future__ import annotations

import csv
import re
from typing import Final

# A field needs its quotes if it holds one of these, or blanks at an end.
_NEEDS_QUOTES: Final = re.compile(r"[,\"\r\n]|^\s|\s$")


def plain_lines(text: str) -> list[str]:
    r"""Return the lines of a text; quotes around fields that do not need any are dropped.

    A line that is no CSV, or holds a field with a comma, quote or line break, is returned as it is.

    Example:
        >>> plain_lines('"room","day"\n"fjord",3\n"a,b",4\n')
        ['room,day', 'fjord,3', '"a,b",4', '']
    """
    return [_plain(line) for line in text.split("\n")]


def _plain(line: str) -> str:
    if '"' not in line:
        return line
    end = "\r" if line.endswith("\r") else ""
    try:
        (fields,) = csv.reader([line.removesuffix("\r")], strict=True)
    except (csv.Error, ValueError):
        return line
    if any(_NEEDS_QUOTES.search(field) for field in fields):
        return line
    return ",".join(fields) + end
