"""Brings an environment to step k of a recorded episode by executing its actions again.

Resume, verification and branches all stand on this one mechanism. A sandbox's memory cannot be
stored, its inputs can: equal actions in an equal world give equal observations, and where they
do not, the first difference is what there is to report.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from agentgym.env.environment import Environment
from agentgym.env.episode import Transition
from agentgym.record import codec
from agentgym.record.happenings import happenings_to_json
from agentgym.record.store import EpisodeRow
from agentgym.records import Image, Observation, Step

_LEAD, _EXCERPT = 20, 80


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first thing that differs between a record and its re-execution.

    Attributes:
        step: Index of the step, -1 for what belongs to none.
        field: What differs: ``happenings``, ``effect``, ``text``, ``data``, ``image`` or ``end``
            of a step;
            before them ``prepared setup``, ``params`` and ``first.text`` (…), after them
            ``status``, ``state_hash``, ``score`` and ``outcome``.
        recorded: What the record holds, shortened to the neighbourhood of the difference.
        seen: What was seen now, shortened alike.
    """

    step: int
    field: str
    recorded: str
    seen: str

    def __str__(self) -> str:
        where = f"step {self.step}: {self.field}" if self.step >= 0 else f"{self.field}:"
        return f"{where} was {self.recorded}, is now {self.seen}"


@dataclass(frozen=True, slots=True)
class Trail:
    """Where a re-execution got to.

    Attributes:
        observation: What the agent sees there.
        transition: The last step taken, None where there was none.
        divergence: The first difference from the record, if any.
    """

    observation: Observation
    transition: Transition | None = None
    divergence: Divergence | None = None


async def retrace(
    env: Environment, first: Observation, row: EpisodeRow, steps: Sequence[Step], *, strict: bool
) -> Trail:
    """Execute recorded actions in an environment that was just reset.

    Args:
        env: Reset with the episode's seed.
        first: What the reset showed.
        row: The recorded episode.
        steps: Its steps, from the first to where the environment shall be brought.
        strict: Stop at the first divergence instead of going on.
    """
    volatile = env.task.manifest.replay.volatile_text
    trail = Trail(first, None, _differs_at_start(row, env, first, volatile))
    for step in steps:
        if strict and trail.divergence:
            break
        transition = await env.step(step.decision, recorded=step.happenings)
        seen = transition.observation
        difference = (
            trail.divergence
            or _happened_otherwise(step, env.steps[-1])
            or compare(step.index, step.observation, seen, volatile)
        )
        over = transition.verdict is not None
        if over and step is not steps[-1]:
            difference = difference or Divergence(step.index, "end", "goes on", "over")
        trail = Trail(seen, transition, difference)
        if over:
            break
    return trail


def compare(
    index: int, recorded: Observation, seen: Observation, volatile_text: Sequence[str] = ()
) -> Divergence | None:
    """Return the first field in which two observations differ, volatile text apart."""
    if codec.observation_hash(recorded, volatile_text) == codec.observation_hash(
        seen, volatile_text
    ):
        return None
    a, b = codec.masked(recorded, volatile_text), codec.masked(seen, volatile_text)
    for field, left, right in (
        ("effect", a.effect.value, b.effect.value),
        ("text", a.text, b.text),
        ("data", codec.canonical(a.data), codec.canonical(b.data)),
    ):
        if left != right:
            return Divergence(index, field, *_excerpts(left, right))
    return Divergence(index, "image", *_pixels(a.image, b.image))


def _happened_otherwise(recorded: Step, seen: Step) -> Divergence | None:
    """Compare the events and faults of a step; they explain what differs in what was seen."""
    if recorded.happenings == seen.happenings:
        return None
    was, now = (codec.canonical(happenings_to_json(step.happenings)) for step in (recorded, seen))
    return Divergence(recorded.index, "happenings", *_excerpts(was, now))


def _differs_at_start(
    row: EpisodeRow, env: Environment, first: Observation, volatile_text: Sequence[str]
) -> Divergence | None:
    if row.first is None or env.instance is None:
        return None
    if row.prepared and row.prepared != env.prepared:
        # Another version of the task or of the programs it was set up with, or a setup that differs
        # from run to run.
        return Divergence(-1, "prepared setup", row.prepared[:12], env.prepared[:12])
    was, now = codec.canonical(row.params), codec.canonical(env.instance.params)
    if was != now:
        return Divergence(-1, "params", *_excerpts(was, now))
    difference = compare(-1, row.first, first, volatile_text)
    return difference and replace(difference, field=f"first.{difference.field}")


def _excerpts(recorded: str, seen: str) -> tuple[str, str]:
    """Cut two texts to the neighbourhood of their first difference."""
    start = max(0, len(os.path.commonprefix([recorded, seen])) - _LEAD)

    def cut(text: str) -> str:
        head, tail = "…" * (start > 0), "…" * (len(text) > start + _EXCERPT)
        return f"{head}{text[start : start + _EXCERPT]!r}{tail}"

    return cut(recorded), cut(seen)


def _pixels(a: Image | None, b: Image | None) -> tuple[str, str]:
    if a is None or b is None or a.shape != b.shape:
        return _size(a), _size(b)
    changed = int(np.any(a != b, axis=-1).sum())
    return _size(a), f"{changed} pixels different"


def _size(image: Image | None) -> str:
    return "no image" if image is None else f"{image.shape[1]}x{image.shape[0]} pixels"
