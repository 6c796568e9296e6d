"""The scripted agent plays a file and submits at its end.

A list of actions is played whatever the agent observes; a policy (``.py``) looks first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentgym.agents import SUBMIT, check_end
from agentgym.agents.policy_file import PolicyFileAgent
from agentgym.errors import ConfigError, PolicyError
from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec
from agentgym.task.reference_actions import answered, read_actions


class ScriptedAgent:
    """Plays the actions of a file by step number, or a policy file.

    Raises:
        ConfigError: The file is absent, or a line of it is not an action.
    """

    def __init__(self, argument: str = "") -> None:
        if not argument:
            raise ConfigError("agent 'scripted' needs a file; write e.g.: scripted:plan.jsonl")
        path = Path(argument)
        is_policy = path.suffix == ".py" and path.is_file()
        self._policy = PolicyFileAgent(path, PolicyError) if is_policy else None
        self._actions = [] if is_policy else read_actions(path, ConfigError)

    async def start(self, briefing: Briefing) -> None:
        """Load the policy, if the file holds one."""
        if self._policy is not None:
            await self._policy.start(briefing)

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Play the next action, or submit after the last.

        Raises:
            PolicyError: The last action of the file was refused, or the policy failed.
        """
        if self._policy is not None:
            return await self._policy.act(observation, tools, history)
        if len(history) < len(self._actions):
            return Decision(answered(self._actions[len(history)], history))
        check_end(history)
        return Decision(SUBMIT)

    async def close(self) -> None:
        """Do nothing; the agent holds no resources."""
