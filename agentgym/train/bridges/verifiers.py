"""An episode as the user of an `Interaction` of Prime Intellect's verifiers 0.4.

verifiers samples and keeps the tokens; messages are text here. verifiers itself is not imported.
"""

from __future__ import annotations

from typing import Protocol

from agentgym.env.environment import Environment
from agentgym.errors import ActionError, VerifierError
from agentgym.records import Verdict
from agentgym.train.bridges.text_calls import first_message, read_call


class Segment(Protocol):
    """The reply to one turn, as verifiers gives it."""

    @property
    def terminated(self) -> bool:
        """Whether the rollout is over."""
        ...

    @property
    def last_reply(self) -> str:
        """The text of the reply."""
        ...


class Interaction(Protocol):
    """A rollout that is held open, as verifiers gives it."""

    async def turn(self, message: str) -> Segment:
        """Send a message of the user and return the reply."""
        ...


async def play(environment: Environment, seed: int, interaction: Interaction) -> Verdict:
    """Play an episode in which the agent of verifiers acts.

    A reply without a usable call ends the episode, as it does for agentgym's own policies. So
    does the end of the rollout. The episode is judged as it stands then.

    Args:
        environment: The environment; it stays open.
        seed: Seed of the episode.
        interaction: An open interaction whose task has no prompt.

    Returns:
        A verdict with a score.

    Raises:
        VerifierError: The episode has no score. verifiers then has an error and no reward.
        AgentGymError: Another boundary broke.
    """
    async with await environment.start(seed) as episode:
        told = first_message(episode.first.text, environment.tools)
        segment = await interaction.turn(told)
        verdict: Verdict | None = None
        while verdict is None and not segment.terminated:
            try:
                action = read_call(segment.last_reply)
            except ActionError:
                break
            done = await episode.step(action)
            verdict = done.verdict
            if verdict is None:
                segment = await interaction.turn(done.observation.text)
        if verdict is None:
            verdict = await episode.finish()
    if not verdict.scored:
        raise VerifierError(f"the episode has no score: {verdict.status}")
    return verdict
