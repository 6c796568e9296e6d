"""The agent that submits at once, without an answer. A sound task must score it zero."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.agents import SUBMIT
from agentgym.errors import ConfigError
from agentgym.records import Action, Briefing, Decision, Observation, Step, ToolSpec

_NO_ANSWER = {"category": "other", "subject": "the task", "reason": "I have no answer."}


class NoopAgent:
    """Submits without reading the task; gives up where an empty answer is refused."""

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ConfigError(f"agent 'noop' takes no argument, got {argument!r}; write: noop")

    async def start(self, briefing: Briefing) -> None:
        """Ignore the briefing."""

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Submit; give up if that was refused."""
        if history:
            return Decision(Action("give_up", _NO_ANSWER))
        return Decision(SUBMIT)

    async def close(self) -> None:
        """Do nothing; the agent holds no resources."""
