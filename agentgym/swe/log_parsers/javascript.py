"""Logs of JavaScript's test runners: TAP (Node's own runner and tape), Jest, Vitest and Mocha."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from agentgym.swe.log_parsers.reading import Results, lines
from agentgym.swe.outcomes import Outcome

_TAP: Final = re.compile(r"( *)(not ok|ok)\b(?: +\d+)?(?: +-)? *(.*)")
_DIRECTIVE: Final = re.compile(r"(?<!\\) # *(SKIP|TODO)\b.*", re.IGNORECASE)
_SUBTEST: Final = re.compile(r"( *)# Subtest: (.*)")
_TIME: Final = re.compile(r"\(?\d+(?:\.\d+)?m?s\)?|m?s\)")
_MARK: Final = re.compile(r"(\s*)(✓|✔|√|✕|✗|✘|✖|×|○|↓|﹣|-|\d+\)) (.+)")
_MARKS: Final = {
    **dict.fromkeys("✓✔√", Outcome.PASS),
    **dict.fromkeys("✕✗✘✖×", Outcome.FAIL),
    **dict.fromkeys("○↓﹣-", Outcome.SKIPPED),
}
_REPORTS: Final = 100
"""Places of a log at which a report in JSON is looked for."""
_REPORT_PARTS: Final = 1_000_000
"""Commas and brackets of a log in which a report in JSON is looked for; each may be a value."""
_MOCHA_END: Final = re.compile(r"\s*\d+ passing\b")
_JEST_END: Final = re.compile(r"(?:\s*●|Test Suites:|Tests:|Summary of all failing)")
_JEST_FILE: Final = re.compile(r"(PASS|FAIL)\s+(\S+)")


def tap(log: str) -> Results:
    """Read the Test Anything Protocol; the id of a subtest is ``parent > subtest``."""
    found = Results()
    parents: dict[int, str] = {}
    for line in lines(log):
        if subtest := _SUBTEST.fullmatch(line):
            depth = len(subtest[1])
            parents = {at: name for at, name in parents.items() if at < depth}
            parents[depth] = _tap_name(subtest[2])
        elif result := _TAP.fullmatch(line):
            depth, said = len(result[1]), result[3]
            directive = _DIRECTIVE.search(said)
            name = _tap_name(_DIRECTIVE.sub("", said))
            parents = {at: parent for at, parent in parents.items() if at < depth}
            outcome = Outcome.PASS if result[2] == "ok" else Outcome.FAIL
            if directive:
                outcome = Outcome.SKIPPED
            found.note_below(tuple(parents.values()), name, outcome, joined=" > ")
    return found


def _tap_name(said: str) -> str:
    return said.replace("\\#", "#").replace("\\\\", "\\").strip()


def jest(log: str) -> Results:
    """Read Jest's or Vitest's verbose output, or its JSON. Suites and tests are joined by a space.

    A test file that cannot run has no tests; its path is an error.
    """
    if (report := _json_report(log, "testResults")) is not None:
        return _jest_json(report)
    found = Results()
    suites: list[tuple[int, str]] = []
    file, ran = "", True
    for line in lines(log):
        if named := _JEST_FILE.match(line):
            if not ran:
                found.note(file, Outcome.ERROR)
            file, ran, suites = named[2], named[1] == "PASS", []
        elif _JEST_END.match(line):
            suites = []
        elif mark := _MARK.fullmatch(line):
            ran = True
            _marked(found, mark, suites, joined=" ")
        elif line.startswith("  ") and line.strip():
            _enter(suites, line)
    if not ran:
        found.note(file, Outcome.ERROR)
    return found


def mocha(log: str) -> Results:
    """Read Mocha's spec output, or its JSON. Suites and tests are joined by a space."""
    if (report := _json_report(log, "stats")) is not None:
        return _mocha_json(report)
    found = Results()
    suites: list[tuple[int, str]] = []
    for line in lines(log):
        if _MOCHA_END.match(line):
            break  # details of failures follow, which look like suites
        if (mark := _MARK.fullmatch(line)) is not None:
            _marked(found, mark, suites, joined=" ")
        elif line.startswith("  ") and line.strip():
            _enter(suites, line)
    return found


def _enter(suites: list[tuple[int, str]], line: str) -> None:
    depth = len(line) - len(line.lstrip())
    while suites and suites[-1][0] >= depth:
        suites.pop()
    suites.append((depth, line.strip()))


def _marked(
    found: Results, mark: re.Match[str], suites: list[tuple[int, str]], *, joined: str
) -> None:
    depth = len(mark[1])
    while suites and suites[-1][0] >= depth:
        suites.pop()
    outcome = _MARKS.get(mark[2], Outcome.FAIL)
    above = [suite for _, suite in suites]
    found.note_below(above, _without_time(mark[3]), outcome, joined=joined)


def _without_time(name: str) -> str:
    """Return a test's name without its duration: ``12ms``, ``(1.2 s)``, ``(0.5ms)``."""
    return name if (split := _duration(name)) is None else name[:split].rstrip()


def _duration(name: str) -> int | None:
    last = name.rstrip().rpartition(" ")[2]
    at = len(name.rstrip()) - len(last)
    if _TIME.fullmatch(last) is None or at == 0:
        return None
    if last in ("s)", "ms)"):
        number = name[:at].rstrip().rpartition(" ")[2]
        at = len(name[:at].rstrip()) - len(number)
        return at if number.startswith("(") and at else None
    return at


def _json_report(log: str, key: str) -> Mapping[str, Any] | None:
    """Return the first JSON object of a log that has a key, if it is the report of a runner."""
    if sum(map(log.count, ",[{")) > _REPORT_PARTS:
        return None
    decoder, start = json.JSONDecoder(), log.find("{")
    for _ in range(_REPORTS):
        if start < 0:
            break
        try:
            read, _end = decoder.raw_decode(log, start)
        except (ValueError, RecursionError):
            read = None
        if isinstance(read, dict) and key in read:
            return read
        start = log.find("\n{", start) + 1 or -1
    return None


def _jest_json(report: Mapping[str, Any]) -> Results:
    words = {"passed": Outcome.PASS, "failed": Outcome.FAIL, "todo": Outcome.SKIPPED}
    found = Results()
    for file in _objects(report.get("testResults")):
        tests = _objects(file.get("assertionResults"))
        for test in tests:
            found.note(
                str(test.get("fullName") or test.get("title") or ""),
                words.get(str(test.get("status")), Outcome.SKIPPED),
            )
        if not tests and file.get("status") == "failed":
            found.note(str(file.get("name", "")), Outcome.ERROR)
    return found


def _mocha_json(report: Mapping[str, Any]) -> Results:
    found = Results()
    for part, outcome in (
        ("failures", Outcome.FAIL),
        ("pending", Outcome.SKIPPED),
        ("passes", Outcome.PASS),
    ):
        for test in _objects(report.get(part)):
            found.note(str(test.get("fullTitle", "")), outcome)
    return found


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
