"""The agent that submits at once. A sound task must score it zero."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.agents import SUBMIT
from agentgym.errors import ConfigError
from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec


class NoopAgent:
    """Submits without reading the task."""

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ConfigError(f"agent 'noop' takes no argument, got {argument!r}; write: noop")

    async def start(self, briefing: Briefing) -> None:
        """Ignore the briefing."""

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Submit."""
        return Decision(SUBMIT)

    async def close(self) -> None:
        """Do nothing; the agent holds no resources."""
