"""Read the result of tests: a reward from their file, single tests from a CTRF report.

Rewards are Harbor's: a number in `reward.txt`, or an object of numbers in `reward.json`. The
reports are Common Test Report Format (ctrf.io), and pytest's own summary lines.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from agentgym.errors import GuestFileError, VerifierError
from agentgym.formats.sandboxed.rules import VERIFIER_LOGS
from agentgym.protocols import Sandbox
from agentgym.records import CheckpointResult, CheckStatus, Phase, bounds
from agentgym.threads import COMPUTING
from agentgym.verify.checking import tidy

_REWARD_BYTES = 64 * 2**10
_REPORT_BYTES = 8 * 2**20
_MOST_TESTS = 500
_STATUS = {"passed": CheckStatus.PASS, "failed": CheckStatus.FAIL}
_LINE = re.compile(r"^(PASSED|FAILED|ERROR|XFAIL|XPASS|SKIPPED)\s+(\S.*?)(?: - .*)?$", re.MULTILINE)


class NoRewardError(VerifierError):
    """The tests ran to their end and left no reward, or no summary."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one run of the tests.

    Attributes:
        reward: Reward in 0..1.
        tests: One checkpoint a test.
        message: The last output of the tests, or the reason why it is missing.
    """

    reward: float
    tests: tuple[CheckpointResult, ...] = ()
    message: str = ""


async def read_reward(sandbox: Sandbox) -> tuple[float, dict[str, float]]:
    """Return the reward that the tests left, and the other named rewards.

    Raises:
        NoRewardError: The file is missing.
        VerifierError: Its reward is not a number.
    """
    text = await _read(sandbox, f"{VERIFIER_LOGS}/reward.txt", _REWARD_BYTES)
    if text is not None:
        return _bounded(_number(text.strip(), "reward.txt")), {}
    text = await _read(sandbox, f"{VERIFIER_LOGS}/reward.json", _REWARD_BYTES)
    if text is None:
        raise NoRewardError(
            f"the tests left no reward: expected {VERIFIER_LOGS}/reward.txt or reward.json"
        )
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise VerifierError(f"reward.json: expected JSON: {error}") from error
    if not isinstance(found, Mapping):
        return _bounded(_number(found, "reward.json")), {}
    named = {str(name): _number(value, f"reward.json: {name}") for name, value in found.items()}
    if not named:
        raise VerifierError("reward.json: expected at least one number, got an empty object")
    whole = named["reward"] if "reward" in named else sum(named.values()) / len(named)
    return _bounded(whole), named


async def read_report(sandbox: Sandbox) -> tuple[CheckpointResult, ...]:
    """Return the single tests in the report; they do not decide the reward."""
    text = await _read(sandbox, f"{VERIFIER_LOGS}/ctrf.json", _REPORT_BYTES)
    # The agent may have written it: to parse it takes seconds, in which other episodes would wait.
    return () if text is None else await COMPUTING.run(_tests_in, text)


def _tests_in(report: str) -> tuple[CheckpointResult, ...]:
    if bounds.is_too_rich(report):
        return ()
    try:
        tests = json.loads(report)["results"]["tests"][:_MOST_TESTS]
        return tuple(
            _test(str(test["name"]), _STATUS.get(test["status"]), str(test.get("message", "")))
            for test in tests
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ()


def read_summary(
    output: str, *, is_whole: bool = True
) -> tuple[float, tuple[CheckpointResult, ...]]:
    """Return reward and tests from the summary that ``pytest -rA`` prints: all must have passed.

    A program of the agent's that the tests start may print a summary of its own, before or after
    pytest's. So every summary counts, and a test that is named twice has its worse outcome.

    Args:
        output: What the tests printed.
        is_whole: False if failures may be missing in it; then nothing has passed.

    Raises:
        NoRewardError: The summary is missing.
    """
    lines = _LINE.findall(output.partition("short test summary info")[2])
    found = [(name, status) for status, name in lines if status not in ("SKIPPED", "XFAIL")]
    if not found:
        raise NoRewardError("the tests printed no summary of pytest's")
    passed: dict[str, bool] = {}
    for name, status in found:
        passed[name] = passed.get(name, True) and status in ("PASSED", "XPASS")
    tests = tuple(
        _test(name, CheckStatus.PASS if fine else CheckStatus.FAIL, "")
        for name, fine in list(passed.items())[:_MOST_TESTS]
    )
    return float(is_whole and all(passed.values())), tests


def named_rewards(rewards: Mapping[str, float]) -> tuple[CheckpointResult, ...]:
    """Return rewards as checkpoints."""
    return tuple(
        _test(name, CheckStatus.PASS if value >= 1 else CheckStatus.FAIL, f"{value:g}", value)
        for name, value in rewards.items()
    )


def _test(
    name: str, status: CheckStatus | None, message: str, score: float | None = None
) -> CheckpointResult:
    found = status or CheckStatus.NOT_APPLICABLE
    credit = float(found is CheckStatus.PASS) if score is None else _bounded(score)
    return CheckpointResult(
        id=tidy(name),
        phase=Phase.OUTCOME,
        status=found,
        score=credit,
        weight=0.0,
        message=tidy(message),
        depth=1,
    )


async def _read(sandbox: Sandbox, path: str, most: int) -> str | None:
    try:
        return (await sandbox.read_file(path, max_bytes=most)).decode("utf-8", "replace")
    except GuestFileError:
        return None


def _number(value: object, where: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        seen = repr(value[:40]) if isinstance(value, str) else f"{type(value).__name__}"
        raise VerifierError(f"{where}: expected a number, got {seen}") from None
    if not math.isfinite(number):
        raise VerifierError(f"{where}: expected a finite number, got {number}")
    return number


def _bounded(number: float) -> float:
    return min(1.0, max(0.0, number))
