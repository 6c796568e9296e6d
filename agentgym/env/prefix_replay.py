"""Forks an episode by repeating its actions, where a part of its state cannot be copied.

A page may hold state in memory, or be the answer to a form. The actions are repeated in a new
episode of the same instance, whose services begin in their first state, so no request is made twice
in one state. Every step and the state at the end are compared before the fork is used.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from agentgym.env.parts import EpisodeParts
from agentgym.env.transition import Transition
from agentgym.errors import UnsupportedError
from agentgym.protocols import AnchoredSurface, Surface
from agentgym.records import Observation, Step, StepEvent
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.services.backend import Backend

_EXCERPT = 120


class Played(Protocol):
    """The parts of an episode that are used here."""

    first: Observation
    steps: list[Step]

    @property
    def backend(self) -> Backend | None:
        """Its services."""
        ...

    @property
    def surfaces(self) -> Sequence[Surface]:
        """Its surfaces."""
        ...

    async def step(self, decision: object, *, recorded: Sequence[StepEvent] = ()) -> Transition:
        """Execute one action."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


Begun = TypeVar("Begun", bound=Played)


async def repeat(
    episode: Played,
    parts: EpisodeParts,
    start: Callable[[], Awaitable[Begun]],
    why: UnsupportedError,
) -> Begun:
    """Return a new episode in the state of another one, by repeating its actions.

    Args:
        episode: The other episode; it stays as it is.
        parts: Its parts.
        start: Begins a new episode of its instance.
        why: Why its state cannot be copied.

    Raises:
        UnsupportedError: The actions cannot be repeated, or lead to another state.
    """
    if parts.rules is not None or parts.conversation is not None:
        raise why
    if not isinstance(parts.environment.provider, NoSandboxProvider):
        # The files of a computer are no part of what is compared.
        raise why
    if not all(isinstance(surface, AnchoredSurface) for surface in parts.surfaces):
        raise why
    again = await start()
    try:
        difference = await _difference(episode, parts, again)
    except BaseException:
        await again.close()
        raise
    if difference:
        await again.close()
        raise UnsupportedError(f"{why}; its actions were repeated instead, but {difference}")
    return again


async def _difference(episode: Played, parts: EpisodeParts, again: Played) -> str:
    """Repeat the actions; return where another state is reached, empty if it is the same."""
    if again.first.text != episode.first.text:
        return f"the first observation differs: {_first_line(episode.first.text, again.first.text)}"
    for step in episode.steps:
        done = await again.step(step.decision, recorded=step.events)
        if done.verdict is not None:
            return f"step {step.index} ended the episode"
        told = _differs(step, again.steps[-1])
        if told:
            return f"step {step.index} differs: {told}"
    states = [None if each is None else each.hash for each in (again.backend, parts.backend)]
    if states[0] != states[1]:
        return "the services end in another state"
    for old, new in zip(parts.surfaces, again.surfaces, strict=True):
        assert isinstance(old, AnchoredSurface) and isinstance(new, AnchoredSurface)
        if await old.anchor() != await new.anchor():
            return "the surfaces end in another state"
    return ""


def _differs(recorded: Step, seen: Step) -> str:
    was, now = recorded.observation, seen.observation
    if was.effect is not now.effect:
        return f"its effect was {was.effect.value}, is now {now.effect.value}"
    return "" if was.text == now.text else _first_line(was.text, now.text)


def _first_line(was: str, now: str) -> str:
    """Return the first line that differs, shortened."""
    pairs = zip(was.splitlines() + [""], now.splitlines() + [""], strict=False)
    line, other = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
    return f"{line.strip()[:_EXCERPT]!r} became {other.strip()[:_EXCERPT]!r}"
