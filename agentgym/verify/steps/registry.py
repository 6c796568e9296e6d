"""Step graders by name: ``loops``, ``progress:0.99``, ``llm:gpt-x``.

The part before the first colon is an entry point of the group ``agentgym.step_graders``. The grader
itself interprets the rest.
"""

from __future__ import annotations

from agentgym import plugins
from agentgym.protocols import StepGrader

GROUP = "agentgym.step_graders"

USUAL = ("validity", "effect", "loops", "progress", "contracts", "localisation")
"""The default graders, which need no model."""


def create(spec: str) -> StepGrader:
    """Create a step grader.

    Args:
        spec: ``"<name>"`` or ``"<name>:<argument>"``.

    Raises:
        NotFoundError: No step grader has that name.
        ConfigError: The grader does not accept the argument.
        PluginError: The entry point cannot be loaded or does not create a step grader.
    """
    grader: StepGrader = plugins.make(
        GROUP, spec, like=StepGrader, methods=("grade",), texts=("name", "version")
    )
    return grader
