"""Policies: the built-in agents, and the entry points for all other agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentgym.errors import AgentError, PolicyError
from agentgym.records import Action, Effect, Step

SUBMIT: Final = Action("submit")
"""The action with which every built-in agent ends its work."""


def check_end(history: Sequence[Step], failure: type[AgentError] = PolicyError) -> None:
    """Raise if the last action should have ended the episode but was not a legal call.

    It is for agents that play given actions, when those are played.

    Args:
        history: The steps taken.
        failure: Class to raise: actions that belong to the task are not the policy's fault.

    Raises:
        AgentError: The last action was refused; the message says why.
    """
    if not history:
        return
    action, seen = history[-1].action, history[-1].observation
    if action.tool in ("submit", "give_up") and seen.effect is Effect.ERROR:
        why = seen.text.removeprefix("error: ").split("\n")[0]
        raise failure(f"the last of the actions was refused, so nothing ends the episode: {why}")
