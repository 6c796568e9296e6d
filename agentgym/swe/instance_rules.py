"""The rules of SWE-bench 5 for instances of data sets, on top of agentgym's own.

An announced failure counts as a pass, a skipped PASS_TO_PASS test is no regression, an id that the
data set has cut within its brackets means the tests that begin with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from agentgym.swe.instance import Instance
from agentgym.swe.log_parsers.registry import parse_log
from agentgym.swe.outcomes import Outcome, worse
from agentgym.swe.test_run import TestRun

_RAN: Final = re.compile(
    r"\b[1-9]\d* (?:passing|passed|specs?,)|Tests:\s+[1-9]|^# tests [1-9]|Executed [1-9]\d* of",
    re.MULTILINE,
)
"""Evidence in a log that its suite ran; a suite that reports only failures shows nothing else."""
_FAILED: Final = (Outcome.FAIL, Outcome.ERROR)


def as_swe_bench(run: TestRun, instance: Instance) -> TestRun:
    """Return a run with the outcomes of the instance's tests as SWE-bench counts them."""
    if run.problem:
        return run
    outcomes = {**run.inherited, **run.outcomes}
    seen = dict(outcomes)
    for test in instance.pass_to_pass:
        found = _outcome(test, seen, fail_only=instance.fail_only)
        outcomes[test] = Outcome.PASS if found in (Outcome.XFAIL, Outcome.SKIPPED) else found
    for test in instance.fail_to_pass:
        found = _outcome(test, seen, fail_only=instance.fail_only)
        outcomes[test] = Outcome.PASS if found is Outcome.XFAIL else found
    return replace(run, outcomes=outcomes)


def read_log(run: TestRun, parser: str, instance: Instance) -> TestRun:
    """Return the run of a command with the outcomes that its log states.

    A log without a single outcome is no evidence, and neither is one without a failure whose
    command failed.

    Raises:
        NotFoundError: No parser has the name.
    """
    if run.problem:
        return run
    outcomes, problem = parse_log(parser, run.log), ""
    if not outcomes:
        silent = instance.fail_only and run.exit_code == 0 and _RAN.search(run.log)
        problem = "" if silent else f"the tests left no result (exit code {run.exit_code})"
    elif run.exit_code != 0 and not any(seen in _FAILED for seen in outcomes.values()):
        problem = f"no test failed, and the command of the tests ended with {run.exit_code}"
    return replace(run, outcomes={} if problem else outcomes, problem=problem)


def _outcome(test: str, seen: Mapping[str, Outcome], *, fail_only: bool) -> Outcome:
    if test in seen:
        return seen[test]
    if test.count("[") > test.count("]"):
        cut = [outcome for name, outcome in seen.items() if name.startswith(test)]
        if cut:
            found = cut[0]
            for outcome in cut:
                found = worse(found, outcome)
            return found
    return Outcome.PASS if fail_only else Outcome.MISSING
