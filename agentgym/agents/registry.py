"""Agents by name: ``noop``, ``openai:gpt-x?stream=true``, ``./my_agent.py:MyAgent``.

The text before the first colon names an entry point of the group ``agentgym.agents``, and the rest
is that agent's argument; or the spec names a class of the user's own.
"""

from __future__ import annotations

from agentgym import plugins
from agentgym.agents.loading import HOW, Source, find_source, is_own
from agentgym.agents.own import OwnAgent
from agentgym.errors import NotFoundError
from agentgym.protocols import Agent

GROUP = "agentgym.agents"


def create(spec: str) -> Agent:
    """Create a new agent, for one episode.

    Args:
        spec: ``"<name>"``, ``"<name>:<argument>"``, ``"python:MODULE:CLASS"`` or
            ``"FILE.py:CLASS"``.

    Raises:
        NotFoundError: No agent has this name.
        ConfigError: The agent does not accept the argument, or the class does not exist.
        PluginError: The entry point cannot be loaded; of agentgym's own agents, it creates none.
    """
    if is_own(spec):
        return OwnAgent(find_source(spec))
    name = spec.partition(":")[0]
    try:
        factory = plugins.load(GROUP, name)
    except NotFoundError as error:
        known = plugins.names(GROUP)
        hint = f"known: {', '.join(known)}; {HOW}"
        raise NotFoundError("agent", name, known, hint) from error

    def make() -> Agent:
        made: Agent = plugins.make(GROUP, spec, like=Agent, methods=("start", "act", "close"))
        return made

    module = str(getattr(factory, "__module__", ""))
    if module.startswith("agentgym."):
        return make()
    # An agent that blocks, or fails when it is created, must affect only its own episode.
    return OwnAgent(Source(make, module, bool(getattr(factory, "privileged", False)), spec))


def check(agent: Agent) -> None:
    """Raise before the run if an agent cannot be created.

    Raises:
        AgentGymError: An agent that is not agentgym's own cannot be made.
    """
    if isinstance(agent, OwnAgent):
        agent.check()


def is_privileged(agent: Agent) -> bool:
    """Return whether an agent asks for the oracle's reference actions (``privileged = True``)."""
    return bool(getattr(agent, "privileged", False))
