"""Parsers of test logs, on the output of the runners and on lines that a patch might print."""

import json
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import pytest

from agentgym.errors import NotFoundError
from agentgym.swe.log_parsers.registry import PARSERS, parse_log
from agentgym.swe.outcomes import Outcome

PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR
SKIPPED, XFAIL = Outcome.SKIPPED, Outcome.XFAIL


def test_the_summary_of_pytest() -> None:
    log = """
PASSED t.py::test_a
FAILED t.py::test_b[x] - assert 1 == 2 - ok
ERROR t.py::test_c - boom
SKIPPED [1] t.py:3: not here
XFAIL t.py::test_d - later
\x1b[32mPASSED\x1b[0m t.py::\x1b[1mtest_e\x1b[0m
"""
    expected = {
        "t.py::test_a": PASS,
        "t.py::test_b[x]": FAIL,
        "t.py::test_c": ERROR,
        "t.py::test_d": XFAIL,
        "t.py::test_e": PASS,
    }
    assert parse_log("parse_log_pytest", log) == expected


def test_ids_with_spaces_and_lines_of_progress() -> None:
    log = "PASSED t.py::test_a[x y]\nt.py::test_b FAILED   [ 50%]\nt.py::test_c PASSED\n"
    expected = {"t.py::test_a[x y]": PASS, "t.py::test_b": FAIL, "t.py::test_c": PASS}
    assert parse_log("parse_log_pytest_v2", log) == expected
    assert parse_log("pytest", log) == {"t.py::test_a[x": PASS}


def test_a_path_as_a_parameter_is_shortened() -> None:
    assert parse_log("pylint", "PASSED t.py::test_a[/home/me/x.py]\n") == {
        "t.py::test_a[/x.py]": PASS
    }
    assert parse_log("pylint", "PASSED t.py::test_a[//x/y]\n") == {"t.py::test_a[//x/y]": PASS}


def test_printed_lines_do_not_hide_a_failure() -> None:
    log = "PASSED t.py::test_a\nFAILED t.py::test_a\nPASSED t.py::test_a\n"
    assert parse_log("pytest", log) == {"t.py::test_a": FAIL}
    log = "--- FAIL: TestA (0.00s)\n--- PASS: TestA (0.00s)\n"
    assert parse_log("go", log) == {"TestA": FAIL}


def test_unittest_and_django() -> None:
    log = """
test_a (m.Case) ... ok
test_b (m.Case) ... FAIL
test_c (m.Case) ... skipped 'no'
test_d (m.Case)
The first line of a docstring. ... Testing against Django
ok
test_e (m.Case) ... printed
more ERROR
test_f (m.Case) ... expected failure
======
FAIL: test_g (m.Case)
"""
    assert parse_log("django", log) == {
        "test_a (m.Case)": PASS,
        "test_b (m.Case)": FAIL,
        "test_c (m.Case)": SKIPPED,
        "The first line of a docstring.": PASS,
        "test_e (m.Case)": ERROR,
        "test_f (m.Case)": XFAIL,
        "test_g (m.Case)": FAIL,
    }


def test_unittest_itself(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_good(self): print('noise')\n"
        "    def test_bad(self): self.fail()\n"
        "    @unittest.skip('x')\n    def test_not(self): pass\n"
    )
    done = subprocess.run(
        ["python3", "-m", "unittest", "-v"], cwd=tmp_path, capture_output=True, text=True
    )
    found = parse_log("unittest", done.stderr + done.stdout)
    assert {test.partition(" ")[0]: outcome for test, outcome in found.items()} == {
        "test_good": PASS,
        "test_bad": FAIL,
        "test_not": SKIPPED,
    }


def test_go_events_and_a_crash() -> None:
    def event(action: str, test: str | None = None) -> str:
        return json.dumps({"Action": action, "Package": "p"} | ({"Test": test} if test else {}))

    log = "\n".join(
        [
            *(event("run", "TestA"), event("run", "TestA/x"), event("pass", "TestA/x")),
            *(event("pass", "TestA"), event("skip", "TestB"), event("run", "TestC"), event("fail")),
            *('{"Action": 3, "Test": "TestD"}', '{"Action": "pass", "Test": 4}', "{" * 50_000),
        ]
    )
    expected = {"TestA/x": PASS, "TestA": PASS, "TestB": SKIPPED, "TestC": ERROR}
    assert parse_log("go", log) == expected
    assert parse_log("gotest", "=== RUN   TestA\n    --- PASS: TestA/x (0.01s)\n") == {
        "TestA": ERROR,
        "TestA/x": PASS,
    }


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_runner_of_node(tmp_path: Path) -> None:
    (tmp_path / "a.test.js").write_text(
        "const test = require('node:test'); const assert = require('assert');\n"
        "test('adds', () => {});\n"
        "test('outer', async (t) => { await t.test('inner # x', () => {});\n"
        "  await t.test('bad', () => assert.equal(1, 2)); });\n"
        "test('later', {skip: true}, () => {});\n"
    )
    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap"], cwd=tmp_path, capture_output=True, text=True
    )
    assert parse_log("tap", done.stdout) == {
        "adds": PASS,
        "outer > inner # x": PASS,
        "outer > bad": FAIL,
        "outer": FAIL,
        "later": SKIPPED,
    }


def test_jest_in_words_and_in_json() -> None:
    log = """
PASS test/a.test.js
  math
    ✓ adds (3 ms)
    nested
      ✕ subtracts
    ○ skipped later
FAIL test/broken.test.js
  ● Test suite failed to run
Tests:       1 failed, 1 passed
"""
    assert parse_log("jest", log) == {
        "math adds": PASS,
        "math nested subtracts": FAIL,
        "math skipped later": SKIPPED,
        "test/broken.test.js": ERROR,
    }
    tests = [{"fullName": "math adds", "status": "passed"}, {"title": "x", "status": "failed"}]
    report = {"testResults": [{"assertionResults": tests}, {"name": "b", "status": "failed"}]}
    log = f"noise {{\n{json.dumps(report)}\nend"
    assert parse_log("jest", log) == {"math adds": PASS, "x": FAIL, "b": ERROR}


def test_mocha_in_words_and_in_json() -> None:
    log = """
  Array
    #indexOf()
      ✔ finds (12ms)
      1) misses
    - later

  1 passing (9ms)
  1 failing

  1) Array
       #indexOf()
         misses:
"""
    assert parse_log("mocha", log) == {
        "Array #indexOf() finds": PASS,
        "Array #indexOf() misses": FAIL,
        "Array later": SKIPPED,
    }
    report = {"stats": {}, "passes": [{"fullTitle": "a"}], "failures": [{"fullTitle": "b"}]}
    assert parse_log("mocha", json.dumps(report)) == {"a": PASS, "b": FAIL}


def test_an_unknown_name_is_told_with_the_close_one() -> None:
    with pytest.raises(NotFoundError, match="did you mean 'pytest'"):
        parse_log("pytes", "")


HOSTILE = [
    "a" + " " * 200_000 + "b",
    "PASSED" + " " * 200_000,
    "[/a" * 50_000,
    "PASSED t[" + "/a" * 50_000 + "]",
    "_" * 100_000 + " " + ".py:" * 30_000,
    ("_ a" + ".py:" * 4_990 + "\n") * 500,
    "{\n" * 100_000,
    "✓ " + "1" * 100_000 + "ms",
    "    # Subtest: x\n" * 20_000,
    " ... " * 40_000,
    "\x1b[" * 50_000,
]


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.timeout(60)  # a pattern that backtracks takes hours for one of these
def test_hostile_logs_are_read_to_their_end(name: str) -> None:
    for log in HOSTILE:
        assert set(parse_log(name, log).values()) <= set(Outcome)


FLOODS = {
    "tap": "# Subtest: "
    + "A" * 15_000
    + "\n"
    + "".join(f"    ok {i} - {i}\n" for i in range(40_000)),
    "jest": "  " + "A" * 15_000 + "\n" + "".join(f"    ✓ {i}\n" for i in range(40_000)),
    "mocha": '{"stats": [' + "{}," * 4_000_000 + "{}]}",
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_log_takes_no_memory_beyond_its_own_size(name: str) -> None:
    tracemalloc.start()
    try:
        parse_log(name, FLOODS[name])
        assert tracemalloc.get_traced_memory()[1] < 200 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.timeout(60)  # it takes longer if each result looks at all suites before it
def test_suites_that_are_over_cost_nothing() -> None:
    suites = "".join(" " * depth + "# Subtest: x\n" for depth in range(2_800))
    assert parse_log("tap", suites + "ok 1 - y\n" * 1_000_000) == {"y": PASS}
