"""Policies: the built-in agents and the entry points through which any other comes in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentgym.errors import AgentError, PolicyError
from agentgym.records import Action, Effect, Step

SUBMIT: Final = Action("submit")
"""The action by which every built-in agent says that it is done."""


def check_end(history: Sequence[Step], failure: type[AgentError] = PolicyError) -> None:
    """Refuse to go on where the last action should have ended the episode and was no legal call.

    For agents that play given actions, once those are over.

    Args:
        history: The steps taken.
        failure: What to raise: actions that belong to the task are not a policy's doing.

    Raises:
        AgentError: It was refused; says why.
    """
    if not history:
        return
    action, seen = history[-1].action, history[-1].observation
    if action.tool in ("submit", "give_up") and seen.effect is Effect.ERROR:
        why = seen.text.removeprefix("error: ").split("\n")[0]
        raise failure(f"the last of the actions was refused, so nothing ends the episode: {why}")
