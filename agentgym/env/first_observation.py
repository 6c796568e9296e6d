"""The first observation: the instruction, additions of the world, and views of the surfaces."""

from __future__ import annotations

from dataclasses import replace

from agentgym.env.parts import EpisodeParts
from agentgym.records import Observation
from agentgym.task.template import fill


async def first_observation(parts: EpisodeParts, rules: str) -> tuple[str, Observation]:
    """Begin the world and the conversation; return the assignment and the first observation.

    The assignment is what the agent is told, without the views of the surfaces.

    Args:
        parts: Parts of an episode whose surfaces are attached.
        rules: Additional text from the rules of a task of another format.

    Raises:
        TaskError: An event before the first step is broken.
        SandboxError: The sandbox died.
        UserError: The user failed.
    """
    told = await parts.dynamics.begin(parts.sandbox)
    opening = await _open_conversation(parts)
    first = Observation(text=parts.instance.instruction)
    for lines in (_about(parts), rules, told, opening):
        first = with_lines(first, lines)
    return first.text, await _with_views(first, parts)


def with_lines(observation: Observation, told: str) -> Observation:
    """Return an observation with lines below its text; unchanged if the lines are empty."""
    if not told:
        return observation
    gap = "\n" if observation.text and not observation.text.endswith("\n") else ""
    return replace(observation, text=f"{observation.text}{gap}{told}")


async def _with_views(first: Observation, parts: EpisodeParts) -> Observation:
    """Add the views of the surfaces: all texts and data, and the first image."""
    for kind, surface in zip(parts.environment.surface_kinds, parts.surfaces, strict=True):
        view = await surface.observe()
        first = with_lines(first, view.text)
        data = {**first.data, kind.name: view.data} if view.data else first.data
        image = view.image if first.image is None else first.image
        first = replace(first, image=image, data=data)
    return first


def _about(parts: EpisodeParts) -> str:
    """Return the environment's text about the place and the time."""
    about = parts.environment.about
    if not about:
        return ""
    filled = fill(about, {"now": parts.dynamics.clock.spoken}, "about in env.toml")
    return f"\n{filled}"


async def _open_conversation(parts: EpisodeParts) -> str:
    """Begin the conversation and return the user's opening; empty if there is no opening."""
    if parts.conversation is None:
        return ""
    return await parts.conversation.begin(parts.instance, parts.user_access, parts.dynamics.note)
