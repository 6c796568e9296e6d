"""What `task check` says of a broken check: once, with its line and its checkpoint."""

from __future__ import annotations

import pytest

from agentgym.authoring.check import check_task, told_once
from agentgym.authoring.finding import Finding, Soundness
from agentgym.authoring.probes import PROBES

ERROR = "error:verifier: checkpoint 'only': checks.only: NameError: name 'x' is not defined"
HELPER = """…

def _helper():
    return nothing_of_this_name

def holds_number(evidence, path, gold):
    return _helper()
"""
ASKED = [probe for probe in PROBES if probe.name in ("schema", "oracle", "noop", "refusal")]


def unsound(name: str, *details: str) -> Finding:
    return Finding(name, Soundness.UNSOUND, details)


def test_an_error_is_told_by_the_first_that_met_it():
    first, second, third, fourth = told_once(
        [
            unsound("oracle", f"solution, run 1: {ERROR}"),
            unsound("noop", f"doing nothing: {ERROR}"),
            unsound("mutants", f"a: {ERROR}", f"b: {ERROR}", "c: expected outcome false"),
            unsound("random", "seed 1: error:verifier: another one"),
        ]
    )
    assert first.details == (f"solution, run 1: {ERROR}",)
    assert second.soundness is Soundness.NOT_APPLICABLE and "oracle" in second.details[0]
    assert third.soundness is Soundness.UNSOUND
    assert third.details == ("c: expected outcome false",)
    assert fourth.details == ("seed 1: error:verifier: another one",)


def test_what_is_sound_stays_as_it_is():
    findings = [
        Finding("noop", Soundness.SOUND),
        Finding("gold", Soundness.NOT_APPLICABLE, (ERROR,)),
    ]
    assert told_once(findings) == findings


@pytest.mark.asyncio(loop_scope="session")
async def test_a_name_error_is_told_once_with_its_checkpoint_and_line(write, stage):
    checks = HELPER
    report = await check_task(write({"checks/checks.py": checks}), stage, probes=ASKED)
    told = [line for finding in report.findings for line in finding.details if "NameError" in line]
    assert len(told) == 1 and not report.sound
    assert "checkpoint 'total'" in told[0] and "checks.py:" in told[0]


@pytest.mark.asyncio(loop_scope="session")
async def test_a_syntax_error_has_its_line(write, stage):
    report = await check_task(write({"checks/checks.py": "def a(:\n…\n"}), stage, probes=ASKED)
    assert "checks.py:1: cannot be loaded: SyntaxError" in "\n".join(report.findings[0].details)


@pytest.mark.asyncio(loop_scope="session")
async def test_an_exit_code_is_told_before_a_score(write, stage):
    script = "cat /no/such/file > /root/total.txt\nexit 7\n"
    files = {"solution/solve.sh": script, "mutants/drops_the_others.patch": None}
    report = await check_task(write(files), stage, probes=ASKED[:2])
    (told,) = report.findings[1].details
    assert "ended with exit code 7, expected exit code 0" in told
