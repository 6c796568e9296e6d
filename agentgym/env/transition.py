"""The result of one step of an episode."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.records import Observation, Verdict


@dataclass(frozen=True, slots=True)
class Transition:
    """The result of a step.

    Attributes:
        observation: The agent's observation.
        reward: Score of the verdict on the last step, else 0.
        terminated: Whether the agent ended the episode, or its sandbox ended under it.
        truncated: Whether the step limit ended the episode.
        verdict: The verdict, None until the episode is over.
    """

    observation: Observation
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    verdict: Verdict | None = None
