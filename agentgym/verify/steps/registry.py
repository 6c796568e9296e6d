"""Step graders by name: ``loops``, ``progress:0.99``, ``llm:gpt-x``.

What stands before the first colon is an entry point of the group ``agentgym.step_graders``; what
follows it is that grader's own business.
"""

from __future__ import annotations

from agentgym import plugins
from agentgym.errors import ConfigError
from agentgym.protocols import StepGrader

GROUP = "agentgym.step_graders"

USUAL = ("validity", "effect", "loops", "progress", "contracts", "localisation")
"""What is asked where nobody says whom: the graders that need no model."""


def create(spec: str) -> StepGrader:
    """Make a step grader.

    Args:
        spec: ``"<name>"`` or ``"<name>:<argument>"``.

    Raises:
        NotFoundError: No step grader has that name.
        ConfigError: The grader does not accept the argument.
        PluginError: The entry point cannot be loaded or does not make a step grader.
    """
    grader: StepGrader = plugins.make(
        GROUP, spec, like=StepGrader, methods=("grade",), texts=("name", "version")
    )
    return grader


def no_argument(name: str, argument: str) -> None:
    """Refuse an argument.

    Raises:
        ConfigError: There is one.
    """
    if argument:
        raise ConfigError(f"step grader {name!r} takes no argument, got {argument!r}")
