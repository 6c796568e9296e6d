"""The oracle plays the task's own solution, which must score one in every sound task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from agentgym.agents import SUBMIT, check_end
from agentgym.agents.policy_file import PolicyFileAgent
from agentgym.errors import AgentError, ConfigError
from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec
from agentgym.task.reference_actions import SOLUTIONS, answered


class OracleAgent:
    """Plays the solution of the task, a list of actions or a policy, and submits after its end."""

    privileged: ClassVar[bool] = True

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ConfigError(f"agent 'oracle' takes no argument, got {argument!r}; write: oracle")

    async def start(self, briefing: Briefing) -> None:
        """Take the solution.

        Raises:
            AgentError: The task has no solution to play, or its policy cannot be loaded.
        """
        path = briefing.reference_policy
        self._policy = None if path is None else PolicyFileAgent(path)
        self._reference_actions = tuple(briefing.reference_actions)
        if self._policy is not None:
            await self._policy.start(briefing)
        elif not self._reference_actions:
            raise AgentError(
                f"no solution for {briefing.task}; the oracle needs one of "
                f"{', '.join(SOLUTIONS)} in the folder solution of the task"
            )

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Play the next action that the history does not hold yet.

        Another agent may have acted before: an oracle that takes over plays all its actions.

        Raises:
            AgentError: The solution is over and its last action was refused, or it failed.
        """
        if self._policy is not None:
            return await self._policy.act(observation, tools, history)
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
