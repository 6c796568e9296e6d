"""Turn the reward of a tau2 episode into a verdict with one checkpoint per part of the product."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentgym.errors import VerifierError
from agentgym.formats.tau2.reward import Reward
from agentgym.protocols import Judge
from agentgym.records import (
    CheckpointResult,
    CheckStatus,
    Criterion,
    Exhibit,
    Met,
    Phase,
    Verdict,
)
from agentgym.verify.checking import tidy

UNFINISHED = "tau2-bench gives nothing for a conversation that neither side ended"


def lost_verdict(part: str, why: str) -> Verdict:
    """Return the verdict of an episode without reward, whatever was said in it.

    Args:
        part: Name of the one checkpoint.
        why: Reason of the failure.
    """
    found = _part(part, CheckStatus.FAIL, why)
    return Verdict("scored", outcome=False, score=0.0, checkpoints=(found,))


def customer_verdict(reward: Reward, *, gave_up: bool) -> Verdict:
    """Return the verdict of a finished episode.

    Args:
        reward: Reward of the episode.
        gave_up: Whether the agent gave up.
    """
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
    )


def with_judge(
    reward: Reward, messages: Sequence[Mapping[str, Any]], judge: Judge | None
) -> Reward:
    """Return a reward with its sentences judged; unchanged if no judge is set.

    Args:
        reward: Reward of the episode.
        messages: The messages shown to the judge.
        judge: Decides the criteria; the call waits for it.
    """
    if judge is None:
        return reward
    exhibits = [
        Exhibit(f"E{number}", "step", str(message["role"]), _shown(message))
        for number, message in enumerate(messages, start=1)
    ]
    try:
        met = [judge.decide(Criterion(sentence), exhibits).met for sentence in reward.unjudged]
    except VerifierError as error:
        return replace(reward, broken=str(error))
    # Unclear is not met, as in a rubric: an agent can write what no judge can decide.
    parts = {**reward.parts, "NL_ASSERTION": float(all(each is Met.YES for each in met))}
    return replace(reward, parts=parts, unjudged=())


def _shown(message: Mapping[str, Any]) -> str:
    calls = [
        f"{one['name']}({json.dumps(one['arguments'])})" for one in message.get("tool_calls") or ()
    ]
    return "\n".join([*filter(None, [message.get("content")]), *calls])


def _part(name: str, status: CheckStatus, message: str) -> CheckpointResult:
    score = float(status is CheckStatus.PASS)
    return CheckpointResult(name, Phase.OUTCOME, status, score, 1.0, tidy(message))
