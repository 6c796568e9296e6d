"""Outcomes of tests by test id, and the FAIL_TO_PASS and PASS_TO_PASS rules over them.

The rules are those of SWE-bench 5: a test counts only if it ran. A skipped or missing test does not
count as passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from agentgym.errors import VerifierError

REPORT_BYTES = 32 * 2**20
_SUITES = 200_000
_PIECE_BYTES, _DEEPEST, _MOST_CHILDREN = 65_536, 20, 1_000


class Outcome(StrEnum):
    """The result that one test reported. `XFAIL` is a failure that the test announced."""

    PASS = "passed"
    FAIL = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAIL = "xfailed"
    MISSING = "missing"


_SEVERITY = (Outcome.PASS, Outcome.XFAIL, Outcome.SKIPPED, Outcome.FAIL, Outcome.ERROR)


class ReportError(VerifierError):
    """A test report cannot be read."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of the rules.

    Attributes:
        fail_to_pass: Outcome by id of each test that the solution has to make pass.
        pass_to_pass: Outcome by id of each test that has to keep passing.
        xfail_passes: Whether an announced failure counts as a pass in `pass_to_pass`.
    """

    fail_to_pass: Mapping[str, Outcome]
    pass_to_pass: Mapping[str, Outcome]
    xfail_passes: bool = False

    @property
    def unresolved(self) -> list[str]:
        """Tests of `fail_to_pass` that do not pass, in order."""
        return [name for name, seen in self.fail_to_pass.items() if seen is not Outcome.PASS]

    @property
    def regressed(self) -> list[str]:
        """Tests of `pass_to_pass` that do not pass, in order."""
        good = {Outcome.PASS, Outcome.XFAIL} if self.xfail_passes else {Outcome.PASS}
        return [name for name, seen in self.pass_to_pass.items() if seen not in good]

    @property
    def resolved(self) -> bool:
        """Whether every named test passes; false if no test is named."""
        return bool(self.fail_to_pass) and not self.unresolved and not self.regressed


def apply_rules(
    seen: Mapping[str, Outcome],
    fail_to_pass: Iterable[str],
    pass_to_pass: Iterable[str],
    *,
    xfail_passes: bool = False,
) -> Resolution:
    """Look up the named tests in the outcomes of a run.

    Args:
        seen: Outcomes by test id.
        fail_to_pass: Ids of the tests that have to pass now.
        pass_to_pass: Ids of the tests that have to pass still.
        xfail_passes: See `Resolution`.
    """
    return Resolution(
        {name: seen.get(name, Outcome.MISSING) for name in fail_to_pass},
        {name: seen.get(name, Outcome.MISSING) for name in pass_to_pass},
        xfail_passes,
    )


def read_junit(report: bytes) -> dict[str, Outcome]:
    """Return the outcomes in a JUnit XML report by test id; a test that is named twice counts once.

    The id is that of pytest, ``tests/test_a.py::TestB::test_c[1]``, if the report names the file of
    each test (pytest's family `xunit1`). Else it is ``classname::name``.

    Raises:
        ReportError: The report is no JUnit XML, too large, or holds a document type.
    """
    if len(report) > REPORT_BYTES:
        raise ReportError(f"a test report of {len(report)} bytes; expected {REPORT_BYTES} at most")
    if re.search(rb"<!(DOCTYPE|ENTITY)", report, re.IGNORECASE):
        raise ReportError("a test report with a document type; expected plain JUnit XML")
    found: dict[str, Outcome] = {}
    try:
        for case in _cases(report):
            name, outcome = _id_of(case), _outcome_of(case)
            found[name] = worse(found.get(name, Outcome.PASS), outcome)
            if len(found) > _SUITES:
                raise ReportError(f"a test report with more than {_SUITES} tests")
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as error:
        raise ReportError(f"a test report that is not XML: {error}") from None
    return found


def _cases(report: bytes) -> Iterator[Element]:
    """Yield the test cases of a report; none is kept, and what lies too deep is refused."""
    parser: Any = ElementTree.XMLPullParser(("start", "end"))
    above: list[Element] = []
    for begin in range(0, len(report), _PIECE_BYTES):
        parser.feed(report[begin : begin + _PIECE_BYTES])
        for event, element in parser.read_events():
            if event == "start":
                if not above and element.tag not in ("testsuites", "testsuite"):
                    tag = element.tag
                    raise ReportError(
                        f"a test report that begins with <{tag:.50}>; expected <testsuites>"
                    )
                if above and above[-1].tag == "testcase" and len(above[-1]) > _MOST_CHILDREN:
                    raise ReportError(f"a test case with more than {_MOST_CHILDREN} elements")
                above.append(element)
                if len(above) > _DEEPEST:
                    raise ReportError(f"a test report with elements more than {_DEEPEST} deep")
                continue
            above.pop()
            if element.tag == "testcase":
                yield element
            if above and above[-1].tag != "testcase":
                above[-1].remove(element)
    parser.close()


def worse(one: Outcome, other: Outcome) -> Outcome:
    """Return the worse of two outcomes of one test, such as those of its call and its teardown."""
    known = [outcome for outcome in (one, other) if outcome in _SEVERITY]
    return max(known, key=_SEVERITY.index, default=Outcome.MISSING)


def id_of_node(node: str, file: str) -> str:
    """Return the id that a JUnit XML report of pytest gives a test.

    Args:
        node: The node id of pytest.
        file: The file that defines the test; another one than the node id names if it is inherited.
    """
    path, bracket, parameters = node.partition("[")
    *owners, name = path.split("::")
    if owners:
        owners[0] = re.sub(r"\.py$", "", owners[0].replace("/", "."))
    return _id(f"{name}{bracket}{parameters}", ".".join(owners), file)


def _id_of(case: Element) -> str:
    return _id(case.get("name", ""), case.get("classname", ""), case.get("file"))


def _id(name: str, owner: str, file: str | None) -> str:
    if not file:
        return f"{owner}::{name}" if owner else name
    module = re.sub(r"\.py$", "", file).replace("/", ".")
    inner: Sequence[str] = ()
    if owner != module and owner.startswith(f"{module}."):
        inner = owner[len(module) + 1 :].split(".")
    return "::".join([file, *inner, name])


def _outcome_of(case: Element) -> Outcome:
    outcome = Outcome.PASS
    for child in case:
        if child.tag == "skipped":
            kind = child.get("type", "")
            outcome = worse(outcome, Outcome.XFAIL if "xfail" in kind else Outcome.SKIPPED)
        elif child.tag in ("failure", "error"):
            outcome = worse(outcome, Outcome.FAIL if child.tag == "failure" else Outcome.ERROR)
    return outcome
