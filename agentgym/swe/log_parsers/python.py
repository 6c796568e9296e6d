"""Logs of Python's test runners: pytest's summary, unittest's and Django's verbose output."""

from __future__ import annotations

import re
from typing import Final

from agentgym.swe.log_parsers.reading import Results, lines
from agentgym.swe.outcomes import Outcome

_PYTEST: Final = {
    "PASSED": Outcome.PASS,
    "XFAIL": Outcome.XFAIL,
    "XPASS": Outcome.PASS,
    "FAILED": Outcome.FAIL,
    "ERROR": Outcome.ERROR,
    "SKIPPED": Outcome.SKIPPED,
}
_SUMMARY: Final = re.compile(rf"({'|'.join(_PYTEST)})\s+(\S.*)")
_COUNT: Final = re.compile(r"\[\d+\]")
_PERCENT: Final = re.compile(r"\[?\d*%?\]?")
_UNITTEST: Final = {
    "ok": Outcome.PASS,
    "expected failure": Outcome.XFAIL,
    "FAIL": Outcome.FAIL,
    "unexpected success": Outcome.FAIL,
    "ERROR": Outcome.ERROR,
}
_VERBOSE: Final = re.compile(r"(\S.*?) \.\.\.\s+(\S.*)?")
_DETAIL: Final = re.compile(r"(FAIL|ERROR): (\S+ \(\S+\))")
_SYMPY: Final = {"ok": Outcome.PASS, "F": Outcome.FAIL, "E": Outcome.ERROR, "s": Outcome.SKIPPED}
_SYMPY_TEST: Final = re.compile(r"(test_\w+) (ok|F|E|s)")
_SYMPY_FAILURE: Final = re.compile(r"_+ ([^\s:]+\.py:\S+) _+")


def pytest(log: str) -> Results:
    """Read the summary of ``pytest -rA``; an id ends at the first space outside its brackets."""
    return _pytest(log, whole=False)


def pytest_with_spaces(log: str) -> Results:
    """Read pytest's summary, and lines of progress, with ids that hold spaces."""
    return _pytest(log, whole=True)


def pytest_short_options(log: str) -> Results:
    """Read pytest's summary; a path as the parameter of a test is shortened to its last part."""
    found = Results()
    for test, outcome in _pytest(log, whole=False).items():
        main, bracket, option = test.partition("[")
        path = option.removesuffix("]")
        if bracket and path != option and path[:1] == "/" != path[1:2] and "*" not in path:
            test = f"{main}[/{path.rpartition('/')[2]}]"
        found.note(test, outcome)
    return found


def _pytest(log: str, *, whole: bool) -> Results:
    found = Results()
    for line in lines(log):
        if summary := _SUMMARY.fullmatch(line.rstrip()):
            word, said = summary[1], summary[2]
            test = said.partition(" - ")[0] if word in ("FAILED", "ERROR", "XFAIL") else said
            test = test if whole else _first_word(test)
            if not _COUNT.fullmatch(test):  # "SKIPPED [1] path:line: reason" names no test
                found.note(test, _PYTEST[word])
        elif whole:
            _progress(line, found)
    return found


def _progress(line: str, found: Results) -> None:
    """Read a line of ``pytest -v``: ``t.py::test_a PASSED  [ 42%]``."""
    words = line.split()
    while words and _PERCENT.fullmatch(words[-1]):
        words.pop()
    if len(words) > 1 and words[-1] in _PYTEST:
        found.note(" ".join(words[:-1]), _PYTEST[words[-1]])


def _first_word(said: str) -> str:
    """Return the text up to the first space.

    Data sets cut ids there even within brackets, so the ids of a run are cut likewise.
    """
    return said.split(maxsplit=1)[0]


def unittest(log: str) -> Results:
    """Read unittest's and Django's verbose output: ``test_a (pkg.mod.Case) ... ok``.

    What a test prints may stand between the dots and its outcome.
    """
    found = Results()
    open_test = ""
    for line in map(str.strip, lines(log)):
        if detail := _DETAIL.match(line):
            found.note(detail[2], Outcome.FAIL if detail[1] == "FAIL" else Outcome.ERROR)
            continue
        said = line
        if test := _VERBOSE.fullmatch(line):
            open_test, said = test[1], test[2] or ""
        elif line.endswith(" ..."):
            open_test = line[:-4]
            continue
        outcome = _unittest_outcome(said)
        if outcome is not None and open_test:
            found.note(open_test, outcome)
            open_test = ""
    return found


def _unittest_outcome(said: str) -> Outcome | None:
    if said.startswith("skipped"):
        return Outcome.SKIPPED
    for word, outcome in _UNITTEST.items():
        if said == word or (said.endswith(f" {word}") and not said.endswith(f" ... {word}")):
            return outcome
    return Outcome.PASS if said.lower() == "ok" else None


def sympy(log: str) -> Results:
    """Read the output of SymPy's own test runner."""
    found = Results()
    for line in (line.strip()[:2000] for line in lines(log)):
        if test := _SYMPY_TEST.match(line):
            found.note(test[1], _SYMPY[test[2]])
        elif failure := _SYMPY_FAILURE.fullmatch(line):
            found.note(failure[1], Outcome.FAIL)
    return found
