"""The protocol of policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec


class Agent(Protocol):
    """A policy for one episode. The entry points `agentgym.agents` offer implementations.

    `act` must depend on its arguments and the briefing alone: a resumed or branched episode
    creates a new agent and gives it the recorded history.
    """

    async def start(self, briefing: Briefing) -> None:
        """Begin an episode."""
        ...

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Choose the next action.

        An exception ends the episode: it is judged as it is if the policy failed, and has no score
        if its model could not be reached (`agentgym.agents.blame` tells the two apart).
        """
        ...

    async def close(self) -> None:
        """Release connections. Never raises."""
        ...


AgentFactory: TypeAlias = Callable[[str], Agent]
"""Creates an agent from the text after its name: ``openai:gpt-x`` calls ``factory("gpt-x")``."""
