"""The oracle plays the task's own solution, which must score one in every sound task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from agentgym.agents import SUBMIT, check_end
from agentgym.errors import AgentError, ConfigError
from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec
from agentgym.task.reference_actions import answered


class OracleAgent:
    """Plays ``briefing.reference_actions`` in order and submits after its end."""

    privileged: ClassVar[bool] = True

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ConfigError(f"agent 'oracle' takes no argument, got {argument!r}; write: oracle")

    async def start(self, briefing: Briefing) -> None:
        """Take the reference actions.

        Raises:
            AgentError: The task has no solution to play.
        """
        if not briefing.reference_actions:
            raise AgentError(
                f"no reference actions for {briefing.task}; "
                "the oracle needs solution/solve.sh or solution/actions.jsonl in the task folder"
            )
        self._reference_actions = tuple(briefing.reference_actions)

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Play the next action that the history does not hold yet.

        Another agent may have acted before: an oracle that takes over plays all its actions.

        Raises:
            AgentError: The reference actions are over and the last one was refused.
        """
        rest = list(self._reference_actions)
        for step in history:
            if rest and step.action == rest[0]:
                del rest[0]
        if rest:
            return Decision(answered(rest[0], history))
        check_end(history, AgentError)
        return Decision(SUBMIT)

    async def close(self) -> None:
        """Do nothing; the agent holds no resources."""
