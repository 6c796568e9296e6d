"""From the reward of a tau2 episode to a verdict: a checkpoint for each part of the product."""

from __future__ import annotations

import hashlib
import json

from agentgym.records import CheckpointResult, CheckStatus, Phase, Verdict
from agentgym.task.foreign.tau2.model import Tau2Task
from agentgym.task.foreign.tau2.reward import Reward
from agentgym.verify.checking import tidy

UNFINISHED = "tau2-bench gives nothing for a conversation that neither side ended"


def customer_verdict(task: Tau2Task, reward: Reward | None, *, gave_up: bool) -> Verdict:
    """Return the verdict.

    Args:
        task: The task.
        reward: Of the episode, None where nobody ended it.
        gave_up: The agent did.
    """
    if reward is None:
        found = _part("ended", CheckStatus.FAIL, UNFINISHED)
        return Verdict("scored", outcome=False, score=0.0, checkpoints=(found,))
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
        verifier=_verifier(task),
    )


def _part(name: str, status: CheckStatus, message: str) -> CheckpointResult:
    score = float(status is CheckStatus.PASS)
    return CheckpointResult(name, Phase.OUTCOME, status, score, 1.0, tidy(message))


def _verifier(task: Tau2Task) -> str:
    """Return what judges: 12 digits of a digest over the task's own criteria."""
    criteria = json.dumps(task.raw.get("evaluation_criteria"), sort_keys=True)
    return hashlib.sha256(criteria.encode()).hexdigest()[:12]
