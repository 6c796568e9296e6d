"""The scripted agent plays a file, whatever it observes, and submits at the end of the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentgym.agents import SUBMIT, check_end
from agentgym.errors import ConfigError
from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec
from agentgym.task.reference_actions import answered, read_actions


class ScriptedAgent:
    """Plays the actions of a file by step number.

    Raises:
        ConfigError: The file is absent, or a line of it is not an action.
    """

    def __init__(self, argument: str = "") -> None:
        if not argument:
            raise ConfigError("agent 'scripted' needs a file; write e.g.: scripted:plan.jsonl")
        self._actions = read_actions(Path(argument), ConfigError)

    async def start(self, briefing: Briefing) -> None:
        """Ignore the briefing."""

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Play the next action, or submit after the last.

        Raises:
            PolicyError: The last action of the file was refused.
        """
        if len(history) < len(self._actions):
            return Decision(answered(self._actions[len(history)], history))
        check_end(history)
        return Decision(SUBMIT)

    async def close(self) -> None:
        """Do nothing; the agent holds no resources."""
