"""Writes the signs of tables and verdicts to terminals whose encoding lacks them."""

from __future__ import annotations

import codecs
from typing import Final

HANDLER: Final = "agentgym-signs"
"""Name of the error handler, for ``errors=`` of a stream."""

_PLAIN: Final = {
    "✓": "+", "✗": "x", "●": "+", "○": "o", "–": "-", "—": "-", "→": "->", "←": "<-", "…": "...",
    "×": "x",
}  # fmt: skip


def register() -> None:
    """Make the error handler known; any other character that cannot be encoded becomes ``?``."""
    codecs.register_error(HANDLER, _replace)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    failed = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign, "?") for sign in failed), error.end
