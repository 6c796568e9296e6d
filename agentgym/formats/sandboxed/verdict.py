"""Turn the results of a task's tests into a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentgym.errors import VerifierError
from agentgym.formats.sandboxed.reward import Outcome
from agentgym.formats.sandboxed.rules import SandboxRules
from agentgym.records import CheckpointResult, CheckStatus, Phase, Verdict
from agentgym.verify.checking import tidy


def verdict_of(rules: SandboxRules, outcomes: Sequence[Outcome], *, gave_up: bool) -> Verdict:
    """Return the verdict of a task from the results of its stages; a stage not reached has 0.

    The outcome is true if the whole reward is 1.
    """
    rewards = [outcome.reward for outcome in outcomes]
    rewards += [0.0] * (len(rules.stages) - len(rewards))
    score = rewards[-1] if rules.combine == "final" else sum(rewards) / len(rewards)
    checkpoints: list[CheckpointResult] = []
    many = len(rules.stages) > 1
    for number, stage in enumerate(rules.stages):
        outcome = outcomes[number] if number < len(outcomes) else Outcome(0.0, (), "not reached")
        named = f"{stage.name}: " if many else ""
        checkpoints += [replace(test, id=f"{named}{test.id}") for test in outcome.tests]
        # Each stage is a part of the whole.
        weight = float(rules.combine == "mean" or number == len(rules.stages) - 1)
        checkpoints.append(_reward(f"{named}reward", outcome, weight))
    return Verdict(
        "scored",
        outcome=score >= 1.0 and not gave_up,
        score=score,
        checkpoints=tuple(checkpoints),
    )


def broken(error: VerifierError) -> Verdict:
    """Return the verdict of tests that cannot be run, or left no reward."""
    found = CheckpointResult("reward", Phase.OUTCOME, CheckStatus.ERROR, 0.0, 1.0, tidy(str(error)))
    return Verdict("error:verifier", outcome=False, score=0.0, checkpoints=(found,))


def _reward(name: str, outcome: Outcome, weight: float) -> CheckpointResult:
    status = CheckStatus.PASS if outcome.reward >= 1 else CheckStatus.FAIL
    message = tidy(outcome.message)
    return CheckpointResult(name, Phase.OUTCOME, status, outcome.reward, weight, message)
