"""Bare numbers that a command asked for: ``echo $$`` prints only a process id.

Only the command tells the meaning of such a number. Each place where a command asks for one excuses
one pair of different numbers, and no more: next to a process id, a count of lines is still
compared.
"""

from __future__ import annotations

import re
from typing import Final

_ASKED: Final = (
    r"\$\$|\$!|\$\{?(?:PPID|BASHPID|EPOCHSECONDS|EPOCHREALTIME|SECONDS)\b",
    r"\bget(?:p?pid|sid|pgid|tid|pgrp)\b|\bprocess\.pid\b|\bpid\b",
    r"\bst_(?:ino|[acm]time)\b|\btime\.|\bperf_counter\b|\bmonotonic\b|\btimeit\b",
    r"\bsocket\b|\bgetsockname\b|:0\b",
)
_SOURCE: Final = re.compile("|".join(f"(?:{part})" for part in _ASKED))
_FORMAT: Final = re.compile(
    r"\bdate\b[^;|&\n]{0,200}?\+\s*(?P<date>[^;|&\n]{0,200})|\bstat\b[^;|&\n]{0,200}?(?:-c|--format|--printf)(?P<stat>[^;|&\n]{0,200})"
)
"""Formats, in which each directive is a place."""
_LISTS: Final = re.compile(
    r"\bpgrep\b|\bpidof\b"
    r"|\bjobs\b[^;|&\n]{0,200} -\w*[pl]|\bps\b[^;|&\n]{0,200}=|\bls\b[^;|&\n]{0,200} -\w*i"
    r"|\bfind\b[^;|&\n]{0,200} -(?:f?ls\b|f?printf\b[^;|&\n]{0,200}%[iDTACab])"
)
"""Commands that print any number of volatile numbers."""
_MANY: Final = 1000
_COMMAND_CHARS: Final = 20_000
_LITERAL: Final = re.compile(r"\d+(?:\.\d+)?")


def excused(recorded: str, seen: str, command: str) -> bool:
    """Return whether two texts differ only in numbers that the command asked for.

    Args:
        recorded: A text with all other volatile values masked.
        seen: The other text.
        command: The executed command.
    """
    asked = _places(command[:_COMMAND_CHARS])
    if not asked or _shape(recorded) != _shape(seen):
        return False
    numbers = zip(_LITERAL.findall(recorded), _LITERAL.findall(seen), strict=True)
    return len({(was, now) for was, now in numbers if was != now}) <= asked


def _places(command: str) -> int:
    """Return how many volatile numbers a command may print."""
    if _LISTS.search(command):
        return _MANY
    formats = (match["date"] or match["stat"] or "" for match in _FORMAT.finditer(command))
    return len(_SOURCE.findall(command)) + sum(text.count("%") for text in formats)


def _shape(text: str) -> str:
    # A longer number takes some of the padding before it.
    return re.sub(r"(?<![ \t])[ \t]+<n>", " <n>", _LITERAL.sub("<n>", text))
