"""Create a judge from ``--judge openai:MODEL`` or ``AGENTGYM_JUDGE``."""

from __future__ import annotations

import os

from agentgym.errors import NotFoundError
from agentgym.protocols import Judge

VARIABLE = "AGENTGYM_JUDGE"
HOW = (
    "name one with --judge openai:MODEL or AGENTGYM_JUDGE, and its endpoint with "
    "AGENTGYM_JUDGE_BASE_URL or OPENAI_BASE_URL"
)
_KINDS = ("openai",)


def judge_spec() -> str:
    """Return the value of AGENTGYM_JUDGE; empty if no judge is set."""
    return os.environ.get(VARIABLE, "").strip()


def open_judge(spec: str) -> Judge:
    """Create a judge.

    Args:
        spec: ``"openai:MODEL?option=value"``.

    Raises:
        NotFoundError: No judge has that name.
        ConfigError: It does not accept the argument, or has no endpoint.
    """
    name, _, argument = spec.partition(":")
    if name not in _KINDS:
        raise NotFoundError("judge", name, _KINDS, "write openai:MODEL")
    # The client of a model takes longer to import than a worker's other modules for judging.
    from agentgym.verify.judge.model import ModelJudge

    return ModelJudge(argument)


def judge_from_environment() -> Judge | None:
    """Create the judge that AGENTGYM_JUDGE names; None if the variable is empty.

    Raises:
        ConfigError: The judge cannot be created.
    """
    spec = judge_spec()
    return open_judge(spec) if spec else None
