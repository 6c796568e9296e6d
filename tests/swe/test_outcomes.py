"""Outcomes: JUnit XML as it is read on the host, and the rules over them."""

import pytest

from agentgym.swe.outcomes import Outcome, ReportError, apply_rules, id_of_node, read_junit

REPORT = b"""<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one" file="tests/test_a.py"/>
<testcase classname="tests.test_a.TestB" name="test_two[x::y]" file="tests/test_a.py">
<failure message="x"/></testcase>
<testcase classname="tests.test_a" name="test_three" file="tests/test_a.py">
<skipped type="pytest.skip"/></testcase>
<testcase classname="tests.test_a" name="test_four" file="tests/test_a.py">
<skipped type="pytest.xfail"/></testcase>
<testcase classname="tests.test_a" name="test_torn" file="tests/test_a.py"/>
<testcase classname="tests.test_a" name="test_torn" file="tests/test_a.py"><error/></testcase>
<testcase classname="pkg.Class" name="other"/>
</testsuite></testsuites>"""
SEEN = {
    "tests/test_a.py::test_one": Outcome.PASS,
    "tests/test_a.py::TestB::test_two[x::y]": Outcome.FAIL,
    "tests/test_a.py::test_three": Outcome.SKIPPED,
    "tests/test_a.py::test_four": Outcome.XFAIL,
    "tests/test_a.py::test_torn": Outcome.ERROR,
    "pkg.Class::other": Outcome.PASS,
}


def test_ids_and_outcomes_are_those_of_pytest():
    assert read_junit(REPORT) == SEEN


@pytest.mark.parametrize(
    "report",
    [
        b"",
        b"<testsuites>",
        b"<html/>",
        b"<testsuites/><testsuites/>",
        b"<!DOCTYPE a [<!ENTITY b 'c'>]><testsuites/>",
        b"\xff\xfe",
        b"<testsuites>" * 100_000,
    ],
)
def test_a_report_that_is_none_is_refused(report):
    with pytest.raises(ReportError):
        read_junit(report)


@pytest.mark.parametrize("name", [name for name, seen in SEEN.items() if seen is not Outcome.PASS])
def test_only_what_passed_has_passed(name):
    """A skipped test, an announced failure and an error at teardown resolve nothing."""
    assert not apply_rules(SEEN, [name], []).resolved
    assert apply_rules(SEEN, ["pkg.Class::other"], [name]).regressed == [name]


def test_missing_tests_and_empty_lists_resolve_nothing():
    assert apply_rules(SEEN, ["gone"], []).fail_to_pass == {"gone": Outcome.MISSING}
    assert not apply_rules(SEEN, [], ["pkg.Class::other"]).resolved
    assert apply_rules(SEEN, ["pkg.Class::other"], ["tests/test_a.py::test_one"]).resolved


def test_announced_failures_may_count_where_a_data_set_says_so():
    keep = ["tests/test_a.py::test_four"]
    assert apply_rules(SEEN, ["pkg.Class::other"], keep, xfail_passes=True).resolved


@pytest.mark.parametrize(
    "text",
    ["<a>" * 100 + "</a>" * 100, f"<testcase name='x'>{'<failure/>' * 2000}</testcase>"],
    ids=["deep", "wide"],
)
def test_a_report_that_no_runner_writes_is_refused(text):
    with pytest.raises(ReportError):
        read_junit(f"<testsuites>{text}</testsuites>".encode())


def test_ids_of_nodes_are_those_of_the_report():
    inherited = "tests/test_b.py::TestB::test_c[a::b/c]"
    assert id_of_node(inherited, "tests/test_b.py") == inherited
    # The report names the file that defines a test; there its class cannot be told.
    assert id_of_node(inherited, "tests/base.py") == "tests/base.py::test_c[a::b/c]"
    assert id_of_node("test_a.py::test_x", "test_a.py") == "test_a.py::test_x"


def test_a_report_of_many_tests_is_read():
    cases = "".join(f"<testcase name='t{n}'><failure/></testcase>" for n in range(20_000))
    found = read_junit(f"<testsuites><testsuite>{cases}</testsuite></testsuites>".encode())
    assert len(found) == 20_000 and set(found.values()) == {Outcome.FAIL}
