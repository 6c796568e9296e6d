"""One run of tests in a clean room: base, patch and the grader's files; its report is read here."""

from __future__ import annotations

import base64
import json
import posixpath
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from agentgym.errors import GuestFileError, SandboxEndedError, SandboxLimitError
from agentgym.protocols import Room
from agentgym.swe.canaries import Canaries, make_canaries
from agentgym.swe.outcomes import (
    REPORT_BYTES,
    Outcome,
    ReportError,
    id_of_node,
    read_junit,
    worse,
)
from agentgym.swe.patch import Entry, Patch, overlay
from agentgym.swe.program import test_program

_ENDED = (SandboxEndedError, SandboxLimitError)
_PLACE = "/tmp/run.py"
_PYTHON = "/usr/bin/python3"
_GRACE_S = 20.0
_LOG_BYTES = 64_000
STRETCH = 2.0
"""Factor by which a run may exceed its limit if its processes wait for a processor meanwhile."""
_TESTS_FAILED = 1
ENVIRONMENT: Mapping[str, str] = {
    "LC_ALL": "C.UTF-8",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True, kw_only=True)
class PytestPlan:
    """A plan by which pytest runs the tests of a repository.

    Attributes:
        root: The repository, an absolute guest path.
        targets: Test files to run, relative to `root`.
        gold: The grader's files by path: hidden tests, restored tests and configuration; None for a
            path that must not exist. They replace what a patch says of these paths.
        config_name: Name of the configuration file; pytest tells its format by it.
        config: Its content, from the grader's side.
        python_path: Folders below `root` that tests import from; "" is `root` itself.
        plugins: Installed pytest plug-ins to load; no other is.
        env: Variables beside `ENVIRONMENT`.
        timeout_s: Longest time of a run, in seconds. The time that its processes wait for a
            processor is added, up to `STRETCH` times the limit.
    """

    root: str
    targets: tuple[str, ...]
    gold: Mapping[str, Entry | None] = field(default_factory=dict)
    config_name: str = "pytest.ini"
    config: str = "[pytest]\n"
    python_path: tuple[str, ...] = ("",)
    plugins: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 40.0


@dataclass(frozen=True, kw_only=True)
class CommandPlan:
    """A plan by which a command runs tests; the caller reads its output.

    Attributes:
        root: The repository, an absolute guest path, and the working directory.
        command: The command and its arguments.
        gold: See `PytestPlan`.
        env: Variables of the command.
        timeout_s: See `PytestPlan`.
        log_bytes: How much of the end of the output is kept.
    """

    root: str
    command: tuple[str, ...]
    gold: Mapping[str, Entry | None] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 1800.0
    log_bytes: int = 16 * 2**20


Plan: TypeAlias = PytestPlan | CommandPlan


@dataclass(frozen=True, kw_only=True)
class TestRun:
    """The observations of one run.

    Attributes:
        outcomes: Outcomes by test id, without those of canaries.
        inherited: Outcomes of tests that another file than that of their node id defines, by node
            id; `outcomes` has them by the file that defines them.
        problem: Why this is no evidence that the tests ran; empty if it is.
        exit_code: Exit code of pytest or the command, None if it did not end.
        log: The end of the output.
        tests_s: Time of the tests, in seconds.
    """

    __test__ = False

    outcomes: Mapping[str, Outcome]
    inherited: Mapping[str, Outcome] = field(default_factory=dict)
    problem: str = ""
    exit_code: int | None = None
    log: str = ""
    tests_s: float = 0.0


def run_pytest(room: Room, plan: PytestPlan, patch: Patch, tests: Sequence[str] = ()) -> TestRun:
    """Run the tests of a plan over the base and a patch.

    Args:
        room: A fresh clean room with the base at ``plan.root``.
        plan: How to run them.
        patch: The agent's changes.
        tests: Ids of tests that decide, for the names of the canaries.

    Raises:
        SandboxError: The room broke, and no program in it caused that.
    """
    folder = posixpath.dirname(plan.targets[0]) if plan.targets else ""
    canaries = make_canaries(folder, tests, set(plan.gold) | set(patch.paths))
    before, after = canaries.modules
    order = {
        "targets": [before, *plan.targets, after],
        "changed": sorted(set(patch.paths) - set(plan.gold)),
        "config_name": plan.config_name,
        "config": plan.config,
        "python_path": [posixpath.join(plan.root, path).rstrip("/") for path in plan.python_path],
        "plugins": list(plan.plugins),
    }
    own = {path: Entry("file", data) for path, data in canaries.modules.items()}
    return _read(
        _run(room, plan, overlay(patch, {**plan.gold, **own}), order, ENVIRONMENT), canaries
    )


def run_command(room: Room, plan: CommandPlan, patch: Patch) -> TestRun:
    """Run the command of a plan over the base and a patch; the caller reads `TestRun.log`.

    Raises:
        SandboxError: The room broke, and no program in it caused that.
    """
    order = {"command": list(plan.command), "log_bytes": plan.log_bytes}
    seen = _run(room, plan, overlay(patch, plan.gold), order, {})
    return _described(seen, {}, seen.get("problem", ""))


def _run(
    room: Room, plan: Plan, patch: Patch, order: Mapping[str, Any], env: Mapping[str, str]
) -> dict[str, Any]:
    """Return the answer of the program in the room, or the problem that prevented one."""
    files = [(change.path, change.after) for change in patch.changes if change.after is not None]
    whole = {
        "root": plan.root,
        "remove": list(patch.paths),
        "files": [(path, int(one.git_mode, 8), len(one.data)) for path, one in files],
        # Programs of the repository import what lies beside them; the runner does not.
        "env": {"PYTHONSAFEPATH": "", **env, **plan.env},
        "timeout_s": plan.timeout_s,
        "longest_s": STRETCH * plan.timeout_s,
        "log_bytes": _LOG_BYTES,
        **order,
    }
    stdin = b"".join((json.dumps(whole).encode(), b"\n", *(one.data for _, one in files)))
    try:
        room.write(_PLACE, test_program())
        # Not -I: the hash seed is a variable. The room's variables are the grader's.
        done = room.run(
            [_PYTHON, "-sSP" if "command" in order else "-sP", _PLACE],
            cwd="/",
            stdin=stdin,
            env={**env, **plan.env},
            timeout_s=STRETCH * plan.timeout_s + _GRACE_S,
        )
        if done.timed_out or done.exit_code != 0 or done.omitted_bytes:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            return {"problem": f"the test runner ended with {done.exit_code}: {said}"}
        seen: dict[str, Any] = json.loads(done.stdout)
        for key in ("told", "report", "log"):
            packed = seen.pop(f"{key}_file", None)
            data = _read_file(room, packed) if packed else base64.b64decode(seen[key])
            seen[key] = zlib.decompressobj().decompress(data, REPORT_BYTES)
    except _ENDED as error:
        return {"problem": f"the tests ended their sandbox: {error}"}
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        return {"problem": f"the test runner's answer cannot be read: {error!r:.200}"}
    if seen["timed_out"]:
        seen["problem"] = f"the tests took more than {plan.timeout_s:g} s"
    elif not seen["clean"]:
        seen["problem"] = "the tests left processes that cannot be ended"
    return seen


def _read_file(room: Room, path: str) -> bytes:
    try:
        return room.read(path)
    except GuestFileError as error:
        raise ValueError(str(error)) from None


def _read(seen: Mapping[str, Any], canaries: Canaries) -> TestRun:
    problem, outcomes = str(seen.get("problem", "")), {}
    if not problem and not seen["report"]:
        lines = bytes(seen["log"]).decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "no output")
        problem = (
            f"the tests ended without a report (exit code {seen['exit_code']}); "
            f"their output ends with: {last:.300}"
        )
    if not problem:
        try:
            outcomes = read_junit(seen["report"])
        except ReportError as error:
            problem = str(error)
    wrong = canaries.wrong(outcomes)
    if not problem and seen["exit_code"] != _TESTS_FAILED:
        problem = f"pytest ended with {seen['exit_code']}; expected 1, for tests that must fail"
    if not problem:
        problem = _contradiction(bytes(seen["told"]).decode("utf-8", "replace"), outcomes)
    if not problem and wrong:
        problem = f"{len(wrong)} tests of the grader have outcomes that an honest run cannot have"
    own = tuple(canaries.modules)
    kept = {name: seen for name, seen in outcomes.items() if not name.startswith(own)}
    found = _described(seen, {} if problem else kept, problem)
    return found if problem else replace(found, inherited=_inherited(seen, kept))


def _inherited(seen: Mapping[str, Any], outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Return the outcomes of inherited tests by node id, from what the runner saw."""
    found: dict[str, Outcome] = {}
    for line in bytes(seen["told"]).decode("utf-8", "replace").split("\n")[:-1]:
        file, _, node = line[1:].partition("\t")
        if node.partition("::")[0] == file:
            continue
        known = outcomes.get(id_of_node(node, file), Outcome.MISSING)
        failed = known if known is not Outcome.PASS else Outcome.FAIL
        now = Outcome.PASS if line[0] == "P" else failed
        found[node] = worse(found.get(node, Outcome.PASS), now)
    return found


def _contradiction(told: str, outcomes: Mapping[str, Outcome]) -> str:
    """Return what the runner saw that the report contradicts, or that tests must not do."""
    seen: dict[str, set[str]] = {"P": set(), "F": set()}
    for line in told.split("\n")[:-1]:
        letter, what = line[:1], line[1:]
        if letter not in seen:
            said = what if letter == "M" else line
            return f"the code under test meddles with the tests: {said:.200}"
        file, _, node = what.partition("\t")
        seen[letter].add(id_of_node(node, file))
    passed = {name for name, outcome in outcomes.items() if outcome is Outcome.PASS}
    for name in sorted(passed & seen["F"]):
        return f"the report tells of a pass that was a failure: {name:.200}"
    for name in sorted(passed - seen["P"]):
        return f"the report tells of a pass that was not seen: {name:.200}"
    for name in sorted(seen["F"] - set(outcomes)):
        return f"the report lacks a test that failed: {name:.200}"
    return ""


def _described(seen: Mapping[str, Any], outcomes: Mapping[str, Outcome], problem: str) -> TestRun:
    return TestRun(
        outcomes=outcomes,
        problem=problem,
        exit_code=seen.get("exit_code"),
        log=bytes(seen.get("log", b"")).decode("utf-8", "replace"),
        tests_s=float(seen.get("tests_s", 0.0)),
    )
