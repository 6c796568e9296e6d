"""Metrics of text files and of tables as text."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Sequence
from pathlib import Path

from agentgym.formats.osworld.metrics.matching import (
    Rule,
    has_items,
    one_space,
    read_lines,
    read_text,
)

_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)")
_NUMBER = re.compile(
    r"(?:(?<![\w.,])[-+])?(?:(?:\d+(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\w.,])\.\d+)"
    r"(?:[eE][-+]?\d{1,3}(?!\d))?"
)
_MOST_NUMBERS = 8
_NEAR = 1e-4
_HEAD = re.compile(r"#!|#.*coding[:=]")


def diff_text_file(result: Path | None, expected: Path) -> float:
    """The share of lines that both files have in common, by difflib."""
    if result is None:
        return 0.0
    return difflib.SequenceMatcher(a=read_lines(result), b=read_lines(expected)).ratio()


def compare_text_file(
    result: Path | None, expected: Path, ignore_blanks: bool = False, ignore_case: bool = False
) -> float:
    """Both texts are equal."""
    if result is None:
        return 0.0
    texts = [read_text(result), read_text(expected)]
    if ignore_blanks:
        texts = [one_space(text) for text in texts]
    if ignore_case:
        texts = [text.lower() for text in texts]
    return float(texts[0] == texts[1])


def file_contains(result: Path | None, rules: Rule) -> float:
    """The file contains every text."""
    if result is None:
        return 0.0
    text = read_text(result)
    return float(all(piece in text for piece in rules["expected"]))


def check_line_number(result: Path | None, rules: Rule) -> float:
    """So many lines contain a time of day."""
    if result is None:
        return 0.0
    return float(
        sum(bool(_TIME.search(line)) for line in read_lines(result)) == int(rules["expected"])
    )


def compare_python_pure_text(result: Path | None, expected: Path | None) -> float:
    """Two programs are equal but for empty lines, spaces at line ends, and encoding comments."""
    if result is None or expected is None:
        return 0.0
    return float(_program(result) == _program(expected))


def _program(path: Path) -> list[str]:
    lines = read_lines(path)
    while lines and _HEAD.match(lines[0]):
        del lines[0]
    return [line.expandtabs(4).rstrip() for line in lines if line.strip()]


def compare_result_files(result: Path | None, expected: Path | None) -> float:
    """Both hold the same number; of an expected number, a text with it and few others will do."""
    if result is None or expected is None:
        return 0.0
    seen, wanted = read_text(result).strip(), read_text(expected).strip()
    try:
        number = float(wanted)
    except ValueError:
        return float(seen == wanted)
    numbers = [one.replace(",", "") for one in _NUMBER.findall(seen)]
    if seen == wanted or len(numbers) > _MOST_NUMBERS:
        return float(seen == wanted)
    return float(any(abs(float(one) - number) < _NEAR for one in numbers))


def check_list(result: Path | None, rules: Rule) -> float:
    """Each expected pattern is found in some line, and no unexpected one in any."""
    if result is None:
        return 0.0
    lines = read_lines(result)

    def found(pattern: str) -> bool:
        return any(re.search(pattern, line) for line in lines)

    there = all(found(pattern) for pattern in rules.get("expect", ()))
    return float(there and not any(found(pattern) for pattern in rules.get("unexpect", ())))


def check_csv(result: Path | None, rules: Rule) -> float:
    """Each expected record matches some row, and no unexpected one any."""
    if result is None:
        return 0.0
    rows = list(csv.DictReader(io.StringIO(read_text(result))))
    there = all(any(has_items(one, row) for row in rows) for one in rules.get("expect", ()))
    return float(
        there and not any(has_items(one, row) for one in rules.get("unexpect", ()) for row in rows)
    )


def compare_csv(
    result: Path | None,
    expected: Path | Sequence[Path],
    strict: bool = True,
    ignore_case: bool = False,
) -> float:
    """The file has the lines of the expected one, or of one of several."""

    def lines(path: Path) -> list[str]:
        read = read_lines(path)
        if not strict:
            read = [line.strip() for line in read]
        return [line.lower() for line in read] if ignore_case else read

    if result is None:
        return 0.0
    gold = [expected] if isinstance(expected, Path) else expected
    return float(any(lines(result) == lines(one) for one in gold))
