"""Tries a candidate in clean rooms: base, base with the new tests, and the gold patch twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from agentgym.protocols import Room
from agentgym.swe.instance_rules import as_swe_bench
from agentgym.swe.instance_tests import InstanceTests, run_tests
from agentgym.swe.mining.split import DroppedError
from agentgym.swe.outcomes import Outcome, apply_rules
from agentgym.swe.patch import Patch
from agentgym.swe.test_run import TestRun

_PASSED = (Outcome.PASS, Outcome.XFAIL)


@dataclass(frozen=True, slots=True)
class TriedCandidate:
    """The result of the runs of a candidate.

    Attributes:
        fail_to_pass: Tests that only the gold patch makes pass.
        pass_to_pass: Tests that pass before and after.
        tests_s: Time of one run with the gold patch, in seconds.
    """

    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    tests_s: float


def try_candidate(tests: InstanceTests, open_room: Callable[[], Room]) -> TriedCandidate:
    """Run the tests of a candidate and return those that decide. Called on a worker thread.

    Args:
        tests: Its tests; the instance names none yet.
        open_room: Opens a fresh clean room.

    Raises:
        DroppedError: The tests do not run, no test is fixed, one breaks, or one is flaky.
        SandboxError: A room could not be started, or broke.
    """
    old: Mapping[str, Outcome] = {}
    if any(tests.base(path) is not None for path in tests.targets()):
        old = _outcomes(run_tests(tests, open_room(), Patch(), hidden=False), required=False)
    # New tests of a new module cannot even be collected before the change.
    before = _outcomes(run_tests(tests, open_room(), Patch()), required=False)
    gold = tests.gold
    run = run_tests(tests, open_room(), gold)
    after = _outcomes(run, required=True)
    fixed = [test for test, seen in after.items() if seen in _PASSED]
    if after and not fixed:
        raise DroppedError("the tests fail", f"none passes after it: {run.log.strip()[-500:]}")
    failing = [test for test in fixed if before.get(test) not in _PASSED]
    if not failing:
        raise DroppedError("no test is fixed", f"{len(fixed)} tests pass before and after")
    again = _outcomes(run_tests(tests, open_room(), gold), required=True)
    if flaky := [test for test in {**after, **again} if after.get(test) != again.get(test)]:
        raise DroppedError("a test is flaky", ", ".join(flaky[:3]))
    passed = [test for seen in (old, before) for test in seen if seen[test] in _PASSED]
    kept = (*_PASSED, Outcome.SKIPPED)
    if broken := [test for test in passed if after.get(test, Outcome.PASS) not in kept]:
        raise DroppedError("a test breaks", ", ".join(broken[:3]))
    keeping = [test for test in fixed if before.get(test) in _PASSED]
    _check(tests, before, again, failing, keeping)
    return TriedCandidate(tuple(failing), tuple(keeping), run.tests_s)


def _check(
    tests: InstanceTests,
    before: Mapping[str, Outcome],
    after: Mapping[str, Outcome],
    failing: list[str],
    keeping: list[str],
) -> None:
    """Apply the rules by which patches are graded: the gold patch solves it, nothing does not."""
    named = replace(tests.instance, fail_to_pass=tuple(failing), pass_to_pass=tuple(keeping))
    for seen, expected in ((before, False), (after, True)):
        counted = as_swe_bench(TestRun(outcomes=seen), named).outcomes
        if apply_rules(counted, failing, keeping).resolved is not expected:
            raise DroppedError("the rules disagree", f"expected resolved = {expected}")


def _outcomes(run: TestRun, *, required: bool) -> Mapping[str, Outcome]:
    if run.problem and required:
        kind = "the tests take too long" if "took more than" in run.problem else "the tests fail"
        raise DroppedError(kind, f"{run.problem} {run.log.strip()[-300:]}")
    return run.outcomes
