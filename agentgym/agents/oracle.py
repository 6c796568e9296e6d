"""The oracle: plays the task's own solution, which every sound task must score with one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from agentgym.agents import SUBMIT
from agentgym.errors import AgentError, ConfigError
from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec


class OracleAgent:
    """Plays ``briefing.playbook`` by step number and submits after its end."""

    privileged: ClassVar[bool] = True

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ConfigError(f"agent 'oracle' takes no argument, got {argument!r}; write: oracle")

    async def start(self, briefing: Briefing) -> None:
        """Take the playbook.

        Raises:
            AgentError: The task has no solution to play.
        """
        if not briefing.playbook:
            raise AgentError(
                f"no playbook for {briefing.task}; "
                "the oracle needs solution/solve.sh or solution/actions.jsonl in the task folder"
            )
        self._playbook = tuple(briefing.playbook)

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Play the next action."""
        step = len(history)
        return Decision(self._playbook[step] if step < len(self._playbook) else SUBMIT)

    async def close(self) -> None:
        """Nothing to release."""
