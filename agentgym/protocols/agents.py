"""Policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec


class Agent(Protocol):
    """A policy for one episode. Offered by the entry points `agentgym.agents`.

    `act` must depend on its arguments, the briefing and nothing else: a resumed or branched
    episode makes a new agent and hands it the recorded history.
    """

    async def start(self, briefing: Briefing) -> None:
        """Begin an episode."""
        ...

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Choose the next action.

        Whatever it raises ends the episode: judged as it stands where the policy failed, without
        a score where its model could not be reached (`agentgym.rollout.blame` tells the two apart).
        """
        ...

    async def close(self) -> None:
        """Release connections. Never raises."""
        ...


AgentFactory: TypeAlias = Callable[[str], Agent]
"""Makes an agent from what follows its name: ``openai:gpt-x`` calls ``factory("gpt-x")``."""
