"""Agents by name: ``noop``, ``scripted:plan.jsonl``, ``openai:gpt-x?stream=true``.

What stands before the first colon is an entry point of the group ``agentgym.agents``; what
follows it is that agent's own business.
"""

from __future__ import annotations

from agentgym import plugins
from agentgym.protocols import Agent

GROUP = "agentgym.agents"


def create(spec: str) -> Agent:
    """Make a new agent, for one episode.

    Args:
        spec: ``"<name>"`` or ``"<name>:<argument>"``.

    Raises:
        NotFoundError: No agent has that name.
        ConfigError: The agent does not accept the argument.
        PluginError: The entry point cannot be loaded or does not make an agent.
    """
    agent: Agent = plugins.make(GROUP, spec, like=Agent, methods=("start", "act", "close"))
    return agent


def is_privileged(agent: Agent) -> bool:
    """Say whether an agent asks for the oracle's playbook (``privileged = True``)."""
    return bool(getattr(agent, "privileged", False))
