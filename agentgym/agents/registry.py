"""Agents by name: ``noop``, ``scripted:plan.jsonl``, ``openai:gpt-x?stream=true``.

What stands before the first colon is an entry point of the group ``agentgym.agents``; what
follows it is that agent's own business.
"""

from __future__ import annotations

from agentgym import plugins
from agentgym.errors import AgentGymError, PluginError
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
    name, _, argument = spec.partition(":")
    factory = plugins.load(GROUP, name)
    try:
        agent: Agent = factory(argument)
    except AgentGymError:
        raise
    except Exception as error:  # whatever a plug-in raises is its failure
        raise PluginError(f"agent {name!r} cannot be made from {spec!r}: {error}") from error
    missing = [m for m in ("start", "act", "close") if not callable(getattr(agent, m, None))]
    if missing:
        raise PluginError(
            f"agent {name!r} is a {type(agent).__name__} without {missing[0]}(); "
            "see agentgym.protocols.Agent"
        )
    return agent


def is_privileged(agent: Agent) -> bool:
    """Say whether an agent asks for the oracle's playbook (``privileged = True``)."""
    return bool(getattr(agent, "privileged", False))
