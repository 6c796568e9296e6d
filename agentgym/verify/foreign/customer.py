"""From the reward of a tau2 episode to a verdict: a checkpoint for each part of the product."""

from __future__ import annotations

from agentgym.records import CheckpointResult, CheckStatus, Phase, Verdict
from agentgym.task.foreign.tau2.reward import Reward
from agentgym.task.foreign.tau2.rules import Tau2Rules
from agentgym.verify.checking import tidy
from agentgym.verify.version import foreign_version

UNFINISHED = "tau2-bench gives nothing for a conversation that neither side ended"


def customer_verdict(rules: Tau2Rules, reward: Reward | None, *, gave_up: bool) -> Verdict:
    """Return the verdict.

    Args:
        rules: Of the task.
        reward: Of the episode, None where nobody ended it.
        gave_up: The agent did.
    """
    verifier = foreign_version(rules)
    if reward is None:
        found = _part("ended", CheckStatus.FAIL, UNFINISHED)
        return Verdict("scored", outcome=False, score=0.0, checkpoints=(found,), verifier=verifier)
    parts = [
        _part(name, CheckStatus.PASS if held else CheckStatus.FAIL, "")
        for name, held in reward.parts.items()
    ]
    parts += [
        _part("NL_ASSERTION", CheckStatus.ERROR, f"needs a language model to judge: {sentence}")
        for sentence in reward.unjudged
    ]
    if reward.broken:
        parts.append(_part("replay", CheckStatus.ERROR, reward.broken))
    value = reward.value
    return Verdict(
        "error:verifier" if value is None else "scored",
        outcome=value == 1 and not gave_up,
        score=value or 0.0,
        checkpoints=tuple(parts),
        verifier=verifier,
    )


def _part(name: str, status: CheckStatus, message: str) -> CheckpointResult:
    score = float(status is CheckStatus.PASS)
    return CheckpointResult(name, Phase.OUTCOME, status, score, 1.0, tidy(message))
