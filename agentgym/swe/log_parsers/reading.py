"""The reading of logs that all parsers share: bounds, escape codes, and ids that are seen twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agentgym.swe.outcomes import Outcome, worse

MAX_LOG: Final = 100_000_000
"""Characters of a log that are read; the rest is ignored."""
MAX_IDS: Final = 500_000
MAX_LINE: Final = 20_000
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")


class Results(dict[str, Outcome]):
    """Outcomes by test id.

    An id that a log names twice keeps its worse outcome: a patch can print lines that look like
    passed tests, and it must not hide a failure by them.
    """

    def note(self, test: str, outcome: Outcome) -> None:
        """Take the outcome of a test."""
        test = test.strip()
        if not test or (test not in self and len(self) >= MAX_IDS):
            return
        self[test] = worse(self.get(test, outcome), outcome)


def lines(log: str) -> Iterator[str]:
    """Yield the lines of a log, bounded, without escape codes and carriage returns."""
    for whole in log[:MAX_LOG].split("\n"):
        line = whole[:MAX_LINE]
        yield _ESCAPES.sub("", line).rstrip("\r") if "\x1b" in line or "\r" in line else line
