"""Needless quotes are dropped from lines of CSV, and nothing else is changed."""

import pytest

from agentgym.verify.csv_lines import plain_lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a,b\n1,2\n", ["a,b", "1,2", ""]),
        ('"a","b"\r\n"1",2\r\n', ["a,b\r", "1,2\r", ""]),
        ('"a,b",2', ['"a,b",2']),
        ('"say ""x""",2', ['"say ""x""",2']),
        ('" a",2', ['" a",2']),
        ('"a"b,2', ['"a"b,2']),
        ('"two\nlines",2', ['"two', 'lines",2']),
        ('"",2', [",2"]),
    ],
)
def test_needless_quotes_are_dropped(text: str, lines: list[str]) -> None:
    assert plain_lines(text) == lines
