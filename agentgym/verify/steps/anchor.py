r"""Anchors: a key that is equal for two steps that look like the same state.

An anchor is a hash of the observation with volatile text masked, as in the anchor states with which
group-in-group policy optimisation finds comparable steps. A picture shows the state after any
action. A text reply describes only its call, and every silent command has the same reply, so for
text the action is part of the anchor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentgym.record import codec
from agentgym.records import Effect, Observation, Step
from agentgym.verify.contracts import action_key

VOLATILE = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?",  # ISO 8601
    r"\b\d\d:\d\d:\d\d([.,]\d+)?\b",
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",  # UUID
    r"\b0x[0-9a-fA-F]+\b",
    r"(?i:\bpid[ =:]*)\d+",
    r"\b\d+(\.\d+)? ?(ms|s|seconds)\b",
)
"""Text that differs between runs of any program; a task adds its own `volatile_text`."""


def view_hash(observation: Observation, volatile_text: Sequence[str]) -> str:
    """Return the hash of an observation, independent of the action before it."""
    seen = replace(observation, effect=Effect.NO_CHANGE)
    return codec.observation_hash(seen, (*VOLATILE, *volatile_text))


def anchor(step: Step, volatile_text: Sequence[str]) -> str:
    """Return the anchor of the state that a step led to."""
    view = view_hash(step.observation, volatile_text)
    if step.observation.image is not None:
        return view
    return "\0".join((*action_key(step.action), view))
