"""Checks the verdict that the rules of another format return, before it is recorded."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from agentgym.errors import VerifierError
from agentgym.plugin_values import PluginValue, problems_of
from agentgym.records import CheckStatus, Phase, Verdict
from agentgym.records.verdicts import Words
from agentgym.verify.checking import tidy


class _CheckpointFields(PluginValue):
    id: str
    phase: Phase
    status: CheckStatus
    score: float
    weight: float
    message: str
    gate: bool
    depth: int = Field(ge=0)
    bonus: bool
    controllable: bool
    step: int | None
    channels: tuple[str, ...]


class _VerdictFields(PluginValue):
    status: str = Field(pattern=r"^(scored|error:[a-z_]+)$")
    outcome: bool
    score: float = Field(ge=0, le=1)
    process: float | None = Field(ge=0, le=1)
    safety_violations: tuple[str, ...]
    checkpoints: tuple[_CheckpointFields, ...]
    state_hash: str
    bonus: float | None = Field(ge=0, le=1)
    uncontrollable: tuple[str, ...]
    verifier: str
    words: Words


def sound_verdict(verdict: object) -> Verdict:
    """Return a verdict of a plug-in with short and encodable texts: they may quote the agent.

    Raises:
        VerifierError: It is no verdict, or a field has another type or range.
    """
    if not isinstance(verdict, Verdict):
        raise VerifierError(f"expected a Verdict, got {type(verdict).__name__}")
    if problems := "; ".join(problems_of(verdict, _VerdictFields)):
        raise VerifierError(f"verdict: {problems}")
    tidied = tuple(
        replace(one, id=tidy(one.id), message=tidy(one.message)) for one in verdict.checkpoints
    )
    return replace(
        verdict,
        checkpoints=tidied,
        safety_violations=tuple(map(tidy, verdict.safety_violations)),
        uncontrollable=tuple(map(tidy, verdict.uncontrollable)),
        state_hash=tidy(verdict.state_hash),
    )
