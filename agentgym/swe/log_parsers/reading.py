"""The reading of logs that all parsers share: bounds, escape codes, and ids that are seen twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from agentgym.swe.outcomes import Outcome, worse

MAX_LOG: Final = 100_000_000
"""Characters of a log that are read; the rest is ignored."""
MAX_IDS: Final = 500_000
MAX_LINE: Final = 20_000
MAX_CHARACTERS: Final = 50_000_000
"""Characters of all ids together: each id below a suite repeats the suite's name."""
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")


class Results(dict[str, Outcome]):
    """Outcomes by test id.

    An id that a log names twice keeps its worse outcome: a patch can print lines that look like
    passed tests, and it must not hide a failure by them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._room = MAX_CHARACTERS

    def note(self, test: str, outcome: Outcome) -> None:
        """Take the outcome of a test."""
        test = test.strip()
        if test in self:
            self[test] = worse(self[test], outcome)
        elif test and len(self) < MAX_IDS and len(test) <= self._room:
            self._room -= len(test)
            self[test] = outcome

    def note_below(
        self, suites: Sequence[str], test: str, outcome: Outcome, *, joined: str
    ) -> None:
        """Take the outcome of a test below suites, unless their names are longer than a line."""
        if sum(map(len, suites)) <= MAX_LINE:
            self.note(joined.join((*suites, test)), outcome)


def lines(log: str) -> Iterator[str]:
    """Yield the lines of a log, bounded, without escape codes and carriage returns."""
    for whole in log[:MAX_LOG].split("\n"):
        line = whole[:MAX_LINE]
        yield _ESCAPES.sub("", line).rstrip("\r") if "\x1b" in line or "\r" in line else line
