"""An agent that plays a policy file, as the oracle plays that of a solution."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentgym.agents import check_end
from agentgym.errors import AgentError, TaskError
from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec
from agentgym.task.reference_policy import ReferencePolicy


class PolicyFileAgent:
    """Plays a policy file (`agentgym.task.reference_policy`).

    If another agent has acted before, the policy begins anew, at what it sees.

    Args:
        path: The file.
        failure: Class to raise if the policy fails: one that belongs to the task is not the fault
            of the agent.
    """

    def __init__(self, path: Path, failure: type[AgentError] = AgentError) -> None:
        self._path, self._failure = path, failure

    async def start(self, briefing: Briefing) -> None:
        """Load the policy.

        Raises:
            AgentError: The file cannot be executed or has no function ``solve``.
        """
        try:
            self._policy = ReferencePolicy(self._path, briefing.instruction)
        except TaskError as error:
            raise self._failure(str(error)) from error

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Play the next action.

        Raises:
            AgentError: The policy is over and the episode goes on, or the policy failed.
        """
        if self._policy.over:
            check_end(history, self._failure)
        try:
            return Decision(self._policy.act(observation))
        except TaskError as error:
            raise self._failure(str(error)) from error

    async def close(self) -> None:
        """Do nothing; the agent holds no resources."""
