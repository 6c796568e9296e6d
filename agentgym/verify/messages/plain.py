"""Plain text: a text in the one form in which the checks compare it.

It has Unicode NFKC, lower case, plain quotes and dashes, and Latin letters in place of those that
look like them. It has no accents, no invisible characters and no Markdown marks.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

MOST_CHARS: Final = 8_000

_LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝвкмнтгαορνυικτχβεηζμƖɡɑı",
    "aeopcyxijshdqwbkmhtraopvuiktxbenzulgai",
)
_SIGNS: Final = str.maketrans(
    {
        **dict.fromkeys("‘’‛ʼ`´′", "'"),
        **dict.fromkeys("“”„«»‟″", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣", "-"),
        **dict.fromkeys("•·◦▪‣●○", "-"),
        "…": "...",
        "×": "x",
    }
)
_PHRASES: Final = dict.fromkeys((0xFDFA, 0xFDFB), "\ufdf4")
"""Replaces ligatures of whole phrases by that of one word: 8,000 would expand to 144,000."""
_DASH: Final = re.compile(r"(?<=[^\W\d_])\s?[–—―]\s?(?=[^\W\d_])|\s[–—―]\s")
_MARKS: Final = re.compile(r"(?m)^[ \t]*(?:>+|#{1,6}(?=\s))[ \t]*")
_POINT: Final = re.compile(r"(?m)^[ \t]*[-*+][ \t]+")
_EMPHASIS: Final = re.compile(r"\*{1,3}|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|`+")
_LINK: Final = re.compile(r"\[([^\[\]\n]{1,200})\]\((?:mailto:)?([^()\s]{1,200})\)")
_STAMP: Final = re.compile(r"\b(\d{4}-\d\d-\d\d)t(\d\d:\d\d(?::\d\d)?)(?:\.\d{1,9})?(?:z\b)?")
_SPACES: Final = re.compile(r"[^\S\n]+")


def plain(text: str) -> str:
    """Return a text in plain form; line breaks stay, and each line is stripped of outer blanks.

    Example:
        >>> plain("**Hello**  Andr\u00e9,\u200b\u2019tis \u0430 test \u2013 12\u00a0%")
        "hello andre,'tis a test, 12 %"
    """
    text = unicodedata.normalize("NFKC", text[:MOST_CHARS].translate(_PHRASES))
    text = _DASH.sub(", ", text).translate(_SIGNS).casefold()
    text = unicodedata.normalize("NFKD", text)
    kept = (c for c in text if c in "\n\t" or unicodedata.category(c) not in _DROPPED)
    text = "".join(kept).translate(_LOOKALIKES)
    text = _POINT.sub("- ", _MARKS.sub("", _LINK.sub(_linked, text)))
    text = _STAMP.sub(r"\1 \2", _EMPHASIS.sub("", text))
    return "\n".join(_SPACES.sub(" ", line).strip() for line in text.splitlines())


def squashed(text: str) -> str:
    """Return only the letters and digits of a plain text."""
    return "".join(c for c in text if c.isalnum())


def _linked(match: re.Match[str]) -> str:
    shown, target = match[1], match[2]
    return shown if shown.strip() in target else f"{shown} {target}"


_DROPPED: Final = frozenset(("Cf", "Cc", "Mn", "Me", "So", "Sk", "Co", "Cs"))
"""Unicode categories to drop: format and control characters, separate accents, emoji."""
