"""Check pack `reports`: results of unit tests.

A report that the agent left says what the agent wants it to say. `pytest` runs the grader's own
tests in a clean room over the agent's artifacts, with the pytest that is installed beside agentgym:
it loads no conftest.py, plug-in, configuration or sitecustomize of the agent's. A program under
test is imported into the process that tests it, however, and can lie to that process. If that
matters, test it from outside (pack `commands`, pack `http`).
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import io
import json
import re
import secrets
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agentgym import CheckResult, Evidence, ExecResult, GuestFileError, Room, VerifierError
from agentgym.installation import missing_extra
from agentgym.verify.documents import DEFAULT_BYTES, parse
from agentgym.verify.values import brief, result

_PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "py", "pygments")
_LIBRARY, _TESTS = "/opt/agentgym-pytest", "/opt/agentgym-tests"
_LEFT_OUT = re.compile(
    r"pygments/(lexers|styles|formatters)/"
    r"(?!(__pycache__/)?(__init__|_mapping|python|diff|default|terminal)\.)"
    r"(?!__pycache__$)"
)
"""Files of Pygments that are left out; pytest imports only two lexers and a formatter."""
_BOOT = """
import json, sys
order = json.load(sys.stdin)
sys.path[:0] = [order["library"]]
try:
    import pytest
except ImportError as error:
    print(error)
    sys.exit(97)
sys.path[1:1] = order["pythonpath"]
sys.exit(pytest.main(order["options"]))
"""
_NO_PYTEST = 97
_NOT_PASSED = ("failure", "error", "skipped")


def junit(evidence: Evidence, path: str, passed: Sequence[str], others: bool = True) -> CheckResult:
    """A JUnit XML file that the agent left says that these tests passed.

    Channel: state. The agent wrote the report: use this check if the report itself was demanded,
    and `pytest` to find out whether tests pass.

    Example:
        use = "reports.junit"
        with = { path = "/srv/app/report.xml", passed = ["tests.test_cart.test_total"] }

    Args:
        evidence: Evidence of the episode.
        path: The report.
        passed: Tests as "classname.name"; each occurs once and is not failed, in error or skipped.
        others: Whether other tests are allowed and may fail; False: any of them is a fail.
    """
    if isinstance(passed, str) or not passed:
        raise VerifierError(f"passed: expected a list of names of tests, got {passed!r}")
    data = evidence.after.read(path, max_bytes=DEFAULT_BYTES)
    cases = list(_cases(parse(data, "xml", path)))
    names = [f"{case.get('@classname', '')}.{case.get('@name', '')}".strip(".") for case in cases]
    good = [name for name, case in zip(names, cases, strict=True) if _passed(case)]
    missing = [name for name in passed if good.count(name) != 1 or names.count(name) != 1]
    extra = [] if others else [n for n in names if n not in passed]
    if missing or extra:
        odd = f"no single pass of {brief(missing[0])}" if missing else f"also {brief(extra[0])}"
        return result(False, f"{path}: {len(good)} of {len(cases)} tests passed, {odd}")
    return result(True, f"{path}: all {len(passed)} tests passed")


def pytest(
    evidence: Evidence,
    tests: Sequence[str],
    artifacts: Sequence[str],
    pythonpath: Sequence[str] = (),
    cwd: str = "/root",
    timeout_s: float = 30.0,
) -> CheckResult:
    """Every test in some gold files passes over the agent's artifacts.

    Channel: state (a clean room with the artifacts). Each test in the files has to be reported as
    passed; a skipped test does not count. A test that must fail is added to each run and has to be
    reported as failed, which proves that tests can fail. The image needs /usr/bin/python3, 3.10 or
    newer.

    Example:
        use = "reports.pytest"
        with = { tests = ["test_cart.py"], artifacts = ["/srv/app"], pythonpath = ["/srv/app/src"] }

    Args:
        evidence: Evidence of the episode.
        tests: Names of gold files that hold tests.
        artifacts: Files and folders of the agent that are copied into the room.
        pythonpath: Folders from which the tests import the artifacts.
        cwd: Working directory of the tests.
        timeout_s: Time limit in seconds.
    """
    if isinstance(tests, str) or not tests:
        raise VerifierError(f"tests: expected a list of gold files, got {tests!r}")
    if odd := [name for name in tests if not re.fullmatch(r"test_\w+\.py", name)]:
        raise VerifierError(f"tests: expected names like 'test_cart.py', got {odd[0]!r}")
    library = _library()
    sources = {name: evidence.gold(name) for name in tests}
    wanted = {test for name, source in sources.items() for test in _tests(source, name)}
    canary, sign = f"test_zz{secrets.token_hex(8)}", secrets.token_hex(8)
    sources[f"{canary}.py"] = f"def {canary}():\n    assert not '{sign}'\n".encode()
    room = evidence.room(artifacts)
    _furnish(room, library, sources)
    report = f"/tmp/{secrets.token_hex(8)}.xml"
    options = [
        "-q", "-p", "no:cacheprovider", "--noconftest", "--import-mode=importlib", "--tb=line",
        f"--rootdir={_TESTS}", "-c", f"{_TESTS}/pytest.ini", f"--junitxml={report}",
        *(f"{_TESTS}/{name}" for name in sources),
    ]  # fmt: skip
    done = _run(room, options, pythonpath, cwd, timeout_s)
    said = (done.stdout + done.stderr).decode("utf-8", "backslashreplace").strip()[-300:]
    if done.exit_code in (_NO_PYTEST, 127):
        # The agent's program may have forged this; a room without the program shows the truth.
        empty = evidence.room()
        _furnish(empty, library, {})
        if _run(empty, ["--version"], (), "/", timeout_s).exit_code != 0:
            raise VerifierError(f"the image has no /usr/bin/python3 that runs pytest: {said}")
    if done.timed_out or done.exit_code != 1:
        ended = "no end in time" if done.timed_out else f"exit code {done.exit_code}"
        return result(False, f"pytest: {ended}, expected 1 for the test that cannot pass: {said}")
    data = room.read(report)[: DEFAULT_BYTES + 1]
    cases = list(_cases(parse(data, "xml", "the report of pytest")))
    return _judge(cases, wanted, canary, sign)


def _run(
    room: Room, options: list[str], pythonpath: Sequence[str], cwd: str, timeout_s: float
) -> ExecResult:
    order = {"library": _LIBRARY, "pythonpath": list(pythonpath), "options": options}
    return room.run(
        ["/usr/bin/python3", "-IB", "-c", _BOOT],
        cwd=cwd,
        stdin=json.dumps(order).encode(),
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        timeout_s=timeout_s,
    )


def _judge(cases: list[dict[str, Any]], wanted: set[str], canary: str, sign: str) -> CheckResult:
    own = [case for case in cases if case.get("@name") == canary]
    if len(own) != 1 or sign not in json.dumps(own[0].get("failure", "")):
        return result(False, "pytest: the test that cannot pass did not fail; nothing is proven")
    others = [case for case in cases if case not in own]
    bad = [case for case in others if not _passed(case)]
    if bad:
        why = next(f"{what}: {_said(bad[0][what])}" for what in _NOT_PASSED if what in bad[0])
        return result(False, f"pytest: {len(bad)} not passed, e.g. {bad[0].get('@name')!r}: {why}")
    seen = {f"{c.get('@classname', '')}.{c.get('@name', '').partition('[')[0]}" for c in others}
    if missing := sorted(wanted - seen):
        return result(False, f"pytest: {len(missing)} tests were not run, e.g. {missing[0]!r}")
    return result(True, f"pytest: all {len(others)} tests passed")


def _furnish(room: Room, library: bytes, sources: dict[str, bytes]) -> None:
    room.write(f"{_LIBRARY}/library.tar", library)
    done = room.run(["/usr/bin/tar", "-x", "-f", f"{_LIBRARY}/library.tar", "-C", _LIBRARY])
    if done.exit_code != 0:
        raise VerifierError(f"pytest cannot be unpacked in a clean room: {done.stderr[-200:]!r}")
    room.write(f"{_TESTS}/pytest.ini", b"[pytest]\njunit_logging = no\n")
    for name, source in sources.items():
        room.write(f"{_TESTS}/{name}", source)


@functools.cache
def _library() -> bytes:
    """Return pytest and its dependencies as a tar archive, including compiled files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in _PACKAGES:
            spec = importlib.util.find_spec(name)
            if spec is None or spec.origin is None:
                raise missing_extra("pytest", "reports")
            source = Path(spec.origin)
            is_package = source.name == "__init__.py"
            place = name if is_package else f"{name}.py"
            archive.add(source.parent if is_package else source, place, filter=_needed)
    return stream.getvalue()


def _needed(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if _LEFT_OUT.match(info.name) else info


def _tests(source: bytes, name: str) -> Iterator[str]:
    """Yield the tests in a module, under their names in reports."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise VerifierError(f"gold file {name!r} is not Python: {error}") from None
    found = list(_functions(module))
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            found += [f"{node.name}.{test}" for test in _functions(node)]
    if not found:
        raise VerifierError(f"gold file {name!r} has no tests")
    yield from (f"{name.removesuffix('.py')}.{test}" for test in found)


def _functions(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    for inner in node.body:
        is_function = isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))
        if is_function and inner.name.startswith("test"):
            yield inner.name


def _cases(report: Any) -> Iterator[dict[str, Any]]:
    """Yield the testcase elements of a report, at any nesting of its suites."""
    waiting = [report]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            cases = node.get("testcase", [])
            for case in cases if isinstance(cases, list) else [cases]:
                if not isinstance(case, dict):
                    raise GuestFileError("a report with a test case that has no name")
                yield case
            waiting += [node[key] for key in ("testsuites", "testsuite") if key in node]


def _passed(case: dict[str, Any]) -> bool:
    return not any(what in case for what in _NOT_PASSED)


def _said(fault: object) -> str:
    return brief(fault.get("@message", "") if isinstance(fault, dict) else str(fault))
