"""Brings a new episode to step k of a recorded one by executing its actions again.

Resume, verification and branches all use this mechanism. A sandbox's memory cannot be stored, but
its inputs can: equal actions in an equal world give equal observations. Where the recorded episode
went on in a fork, the re-execution forks, too, because a fork has no background processes. Text
that a clock or a process table writes is masked before it is compared (docs/replay.md).
"""

from __future__ import annotations

import os.path
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agentgym.env.episode import Episode
from agentgym.env.transition import Transition
from agentgym.record import codec
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.record.volatile.masking import Masking, command_of
from agentgym.record.volatile.numbers import excused
from agentgym.record.volatile.times import Period
from agentgym.records import Action, Image, Observation, Step, StepEventKind

_LEAD, _EXCERPT = 20, 80
_DIFF_LINES, _DIFF_CHARS = 3, 160
_DIFFED_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class Divergence:
    """A difference between a record and its re-execution.

    Attributes:
        step: Index of the step, -1 if the difference belongs to no step.
        field: The field that differs: ``events``, ``effect``, ``text``, ``data``, ``image`` or
            ``end`` of a step;
            before the steps ``prepared setup``, ``params`` and ``first.text`` (…), after them
            ``status``, ``state_hash``, ``score`` and ``outcome``.
        recorded: The recorded value, shortened to the neighbourhood of the difference.
        seen: The value now, shortened alike.
        diff: For a text, the first lines that differ: ``- `` recorded and ``+ `` now.
    """

    step: int
    field: str
    recorded: str
    seen: str
    diff: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f"step {self.step}: {self.field}" if self.step >= 0 else f"{self.field}:"
        return f"{where} was {self.recorded}, is now {self.seen}"


@dataclass(frozen=True, slots=True)
class Reexecution:
    """The result of a re-execution.

    Attributes:
        episode: The episode in which the steps were executed; a fork of the given one if the
            recorded one was forked.
        observation: The observation after the last step.
        transition: The last step taken, None if no step was taken.
        divergence: The first difference outside text, if any.
        texts: The first difference of each step whose observation differs.
    """

    episode: Episode
    observation: Observation
    transition: Transition | None = None
    divergence: Divergence | None = None
    texts: tuple[Divergence, ...] = ()

    @property
    def first(self) -> Divergence | None:
        """First difference of any kind."""
        found = [*filter(None, [self.divergence]), *self.texts[:1]]
        return min(found, key=lambda one: one.step, default=None)


async def reexecute(
    episode: Episode,
    row: EpisodeRow,
    steps: Sequence[Step],
    *,
    recorded_in: Sequence[Period],
    strict: bool,
    forks: Collection[int] = (),
) -> Reexecution:
    """Execute recorded actions in an episode that was just started.

    Args:
        episode: Episode with the seed of the recorded one.
        row: The recorded episode.
        steps: Its first steps, as far as they are to be executed.
        recorded_in: Periods of the recording: times within them are volatile.
        strict: Stop at the first divergence outside text instead of going on.
        forks: Numbers of steps after which the recorded episode went on in a fork.

    Raises:
        UnsupportedError: The episode cannot be forked.
    """
    masking = Masking((), tuple(episode.environment.task.manifest.replay.volatile_text))
    different = _differs_at_start(row, episode, masking)
    executed = Reexecution(episode, episode.first, None, different)
    for step in steps:
        if strict and executed.divergence:
            break
        if step.index in forks:
            episode = await _forked(episode)
        if any(event.kind is StepEventKind.RESTORED for event in step.events):
            async with episode.suspended():
                pass
        transition = await episode.step(step.decision, recorded=step.events)
        seen = transition.observation
        now = Period(episode.began_s, time.time())
        masking = replace(masking.after(command_of(step.action)), periods=(*recorded_in, now))
        difference = compare(step.index, step.observation, seen, masking, step.action)
        texts = executed.texts if difference is None else (*executed.texts, difference)
        divergence = executed.divergence or _happened_otherwise(step, episode.steps[-1])
        over = transition.verdict is not None
        if over and step is not steps[-1]:
            divergence = divergence or Divergence(step.index, "end", "goes on", "over")
        executed = Reexecution(episode, seen, transition, divergence, texts)
        if over:
            return executed
    if len(steps) in forks and len(steps) == len(episode.steps):
        executed = replace(executed, episode=await _forked(episode))
    return executed


async def _forked(episode: Episode) -> Episode:
    """Return a fork in place of an episode, which is closed."""
    child = await episode.fork()
    child.on_end = episode.on_end
    await episode.close()
    return child


def recorded_periods(store: RunStore, row: EpisodeRow) -> tuple[Period, ...]:
    """Return the periods in which an episode and its parents were recorded, as far as known."""
    found = []
    for episode_id in store.ancestry(row.id):
        if (ending := store.endings.find(episode_id)) is not None:
            ended_s = time.time() if ending.ended_s is None else ending.ended_s
            found.append(Period(ending.began_s, ended_s))
    return tuple(found)


def compare(
    index: int, recorded: Observation, seen: Observation, masking: Masking, action: Action
) -> Divergence | None:
    """Return the first field that differs in two observations of an action, volatile text apart."""
    if codec.observation_hash(recorded) == codec.observation_hash(seen):
        return None
    a, b = masking.observation(recorded), masking.observation(seen)
    if a.text != b.text and excused(a.text, b.text, command_of(action)):
        b = replace(b, text=a.text)
    if codec.observation_hash(a) == codec.observation_hash(b):
        return None
    for field, left, right in (
        ("effect", a.effect.value, b.effect.value),
        ("text", a.text, b.text),
        ("data", codec.canonical(a.data), codec.canonical(b.data)),
    ):
        if left != right:
            diff = _first_lines(a.text, b.text)
            return Divergence(index, field, *_excerpts(left, right), diff)
    return Divergence(index, "image", *_pixels(a.image, b.image))


def _happened_otherwise(recorded: Step, seen: Step) -> Divergence | None:
    """Compare the events and faults of a step, which explain differences in the observation."""
    if recorded.events == seen.events:
        return None
    was, now = (codec.canonical(step.events) for step in (recorded, seen))
    return Divergence(recorded.index, "events", *_excerpts(was, now))


def _differs_at_start(row: EpisodeRow, episode: Episode, masking: Masking) -> Divergence | None:
    if row.first is None:
        return None
    if row.prepared and row.prepared != episode.prepared:
        # The task or the programs of its setup have another version, or the setup differs from
        # run to run.
        return Divergence(-1, "prepared setup", row.prepared[:12], episode.prepared[:12])
    was, now = codec.canonical(row.params), codec.canonical(episode.instance.params)
    if was != now:
        return Divergence(-1, "params", *_excerpts(was, now))
    difference = compare(-1, row.first, episode.first, masking, Action(""))
    return difference and replace(difference, field=f"first.{difference.field}")


def _first_lines(recorded: str, seen: str) -> tuple[str, ...]:
    """Return the first lines in which two texts differ."""
    if recorded == seen:
        return ()
    was, now = (text[:_DIFFED_CHARS].splitlines() for text in (recorded, seen))
    same = len(os.path.commonprefix([was, now]))
    return tuple(
        f"{sign} {line[:_DIFF_CHARS]}"
        for sign, lines in (("-", was), ("+", now))
        for line in lines[same : same + _DIFF_LINES]
    )


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
