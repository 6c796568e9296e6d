"""The random agent: schema-valid tool calls drawn from the episode's seed.

Each draw depends only on the seed and the step number, so an episode that is resumed or replayed
draws the same calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agentgym.agents import SUBMIT
from agentgym.errors import ConfigError
from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec
from agentgym.surfaces.calls import sample_call

SUBMIT_CHANCE = 0.05


class RandomAgent:
    """Calls random tools and submits after about ``1 / SUBMIT_CHANCE`` steps.

    ``submit`` and ``give_up`` are not drawn like other tools: they would end most episodes
    within three steps. Where `submit` demands fields, they are drawn too.
    """

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ConfigError(
                f"agent 'random' takes no argument, got {argument!r}; "
                "its randomness comes from the episode's seed"
            )

    async def start(self, briefing: Briefing) -> None:
        """Take the seed."""
        self._seed = briefing.seed

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Draw a call, or submit with a small fixed chance."""
        rng = np.random.default_rng([self._seed, len(history)])
        acting = [tool for tool in tools if tool.name not in ("submit", "give_up")]
        if acting and rng.random() >= SUBMIT_CHANCE:
            return Decision(sample_call(acting, rng))
        forms = [
            tool for tool in tools if tool.name == "submit" and tool.parameters.get("required")
        ]
        return Decision(sample_call(forms, rng) if forms else SUBMIT)

    async def close(self) -> None:
        """Do nothing; the agent holds no resources."""
