"""The steps at which an episode is forked, and the calls that get no fork of their own.

Sources: Hou et al. 2025, "TreeRL" (branching at uncertain tokens); Dong et al. 2025, "ARPO" (at
uncertain steps).
"""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from agentgym.manifest import Manifest
from agentgym.records import Action, Decision

_LONGEST_COMPARED: Final = 500
"""Characters of the longest arguments that are compared in part."""


class BranchAt(StrEnum):
    """The steps at which an episode is forked."""

    STEPS = "steps"
    """Steps of given numbers; every step, if none is given."""
    SURPRISE = "surprise"
    """Steps whose tokens were unlikely."""
    FAILURE = "failure"
    """The first step that failed, once the episode has ended without success."""


class TreeConfig(Manifest):
    """Rollouts that branch; see `agentgym.train.trees`."""

    leaves: int = Field(default=8, ge=2, le=1024)
    """Leaves of a tree, at most."""
    width: int = Field(default=2, ge=2)
    """Branches of a fork, at most."""
    at: BranchAt = BranchAt.SURPRISE
    steps: tuple[Annotated[int, Field(ge=0)], ...] = ()
    likeness: float = Field(default=1.0, gt=0, le=1)
    """Calls of one tool whose arguments agree in at least this share of their text get one fork; 1:
    only equal calls."""
    surprise: float = Field(default=1.0, ge=0)
    """Mean negative log-probability of a step's tokens from which on it is forked, in nats."""
    reflection: str = ""
    """A text that a branch reads when it begins anew from a failure."""


def is_branching(config: TreeConfig, decision: Decision, step: int) -> bool:
    """Whether to fork before a decision is carried out."""
    if config.at is BranchAt.STEPS:
        return not config.steps or step in config.steps
    if config.at is BranchAt.SURPRISE:
        return surprise(decision) >= config.surprise
    return False


def is_like(one: Action, other: Action, likeness: float) -> bool:
    """Whether two calls from one state are equal, or nearly so."""
    if one == other:
        return True
    if likeness == 1 or one.tool != other.tool:
        return False
    mine, theirs = (json.dumps(dict(each.arguments), sort_keys=True) for each in (one, other))
    # The time of the comparison grows with the product of the lengths.
    if max(len(mine), len(theirs)) > _LONGEST_COMPARED:
        return False
    return SequenceMatcher(None, mine, theirs, autojunk=False).ratio() >= likeness


def surprise(decision: Decision) -> float:
    """Return the mean negative log-probability of a decision's tokens in nats; 0 if not known."""
    parts = [each.tokens.logprobs for each in decision.generations or ()]
    values = [float(value) for part in parts if part is not None for value in part]
    return -sum(values) / len(values) if values else 0.0
