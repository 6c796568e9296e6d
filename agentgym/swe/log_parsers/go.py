"""Logs of Go's test runner: the events of ``go test -json``, and the text of ``go test -v``."""

from __future__ import annotations

import json
import re
from typing import Final

from agentgym.swe.log_parsers.reading import Results, lines
from agentgym.swe.outcomes import Outcome

_EVENTS: Final = {"pass": Outcome.PASS, "fail": Outcome.FAIL, "skip": Outcome.SKIPPED}
_TEXT: Final = {"PASS": Outcome.PASS, "FAIL": Outcome.FAIL, "SKIP": Outcome.SKIPPED}
_RESULT: Final = re.compile(r"\s*--- (PASS|FAIL|SKIP): (\S+)(?: \([\d.]+s\))?\s*")
_STARTED: Final = re.compile(r"\s*=== RUN\s+(\S+)\s*")


def go(log: str) -> Results:
    """Read events or text. The id is the name of the test, with its subtests: ``TestA/case_1``.

    A test that started and did not end, because the program crashed, is an error.
    """
    found = Results()
    started: dict[str, None] = {}
    for line in lines(log):
        if line.startswith("{"):
            _event(line, found, started)
        elif result := _RESULT.fullmatch(line):
            found.note(result[2], _TEXT[result[1]])
        elif run := _STARTED.fullmatch(line):
            started[run[1]] = None
    for test in started:
        if test not in found:
            found.note(test, Outcome.ERROR)
    return found


def _event(line: str, found: Results, started: dict[str, None]) -> None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(event, dict) or not isinstance(event.get("Test"), str):
        return
    action, test = event.get("Action"), event["Test"]
    if action == "run":
        started[test] = None
    elif isinstance(action, str) and action in _EVENTS:
        found.note(test, _EVENTS[action])
