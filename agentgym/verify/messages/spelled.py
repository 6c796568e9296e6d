"""Numbers in words: "forty-two", "two hundred and five", "1.2 million", "oh four one"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

UNITS: Final = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
TENS: Final = {
    word: 10 * number
    for number, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2
    )
}
SCALES: Final = {"hundred": 100, "thousand": 1000, "million": 10**6, "k": 1000}
ORDINALS: Final = {
    word: number
    for number, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
            "twentieth",
        ],
        1,
    )
} | {"thirtieth": 30}
_DIGITS: Final = {**{w: n for w, n in UNITS.items() if n < 10}, "oh": 0, "o": 0, "nought": 0}

_WORD: Final = "|".join([*UNITS, *TENS, *SCALES])
_RUN: Final = re.compile(rf"\b(?:{_WORD})(?:(?:[ -]|, )(?:and )?(?:{_WORD}))*\b")
_DIGIT: Final = "|".join(_DIGITS)
_DICTATED: Final = re.compile(
    rf"\b(?:(?:double |triple )?(?:{_DIGIT}|\d)[ ,.-]{{1,3}}){{2,}}"
    rf"(?:double |triple )?(?:{_DIGIT}|\d)\b"
)


def spelled_numbers(text: str) -> Iterator[tuple[int, int, Decimal]]:
    """Yield the numbers that a plain text spells in words: start, end, value.

    A lone "one" is not a number; "a hundred" is always 100.
    """
    for match in _RUN.finditer(text):
        words = [w for w in re.split(r"[ ,-]+", match[0]) if w != "and"]
        if words == ["one"] or not (set(words) - SCALES.keys() or words[0] in SCALES):
            continue
        if (value := _value(words)) is not None and words != ["k"]:
            yield match.start(), match.end(), Decimal(value)


def dictated(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield digits that a plain text reads out one by one: start, end, the digits.

    Example:
        >>> list(dictated("call oh four one, double five"))
        [(5, 29, '04155')]
    """
    for match in _DICTATED.finditer(text):
        digits, times = "", 1
        for word in re.findall(r"[a-z]+|\d", match[0]):
            if word in ("double", "triple"):
                times = 2 if word == "double" else 3
                continue
            digits += times * str(_DIGITS.get(word, word))
            times = 1
        if re.search(r"[a-z]", match[0]):
            yield match.start(), match.end(), digits


def _value(words: Sequence[str]) -> int | None:
    """Return the number that some words spell, or None if they spell several numbers."""
    whole, part, last = 0, 0, 10**9
    for word in words:
        if word in SCALES:
            scale = SCALES[word]
            if scale == 100:
                part = (part or 1) * 100
            else:
                whole, part = whole + (part or 1) * scale, 0
            last = scale
            continue
        number = UNITS.get(word, TENS.get(word, 0))
        if number >= last or (word in UNITS and part % 10 and part % 100 < 20):
            return None
        if word in UNITS and part % 100 and (number > 9 or part % 10):
            return None
        part += number
        last = 10 if word in TENS else 1
    return whole + part
