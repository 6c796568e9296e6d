"""Finds the points at which recorded episodes with one beginning went different ways.

The episodes of a tree (one episode and its forks) share their first steps. Attempts at one task
with one seed begin in equal worlds; while their calls and observations are equal, so are their
states. The value of a branch is the mean score of the episodes that took it (Hou et al. 2025,
TreeRL). Episodes without a score take no part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentgym.comparison import are_alike
from agentgym.record import codec
from agentgym.records import Action
from agentgym.train.datasets.episodes import RecordedEpisode, parents, step_key

_WORD: Final = re.compile(r"\w+|[^\w\s]")
_COMPARED: Final = 4_000
"""Words of a call that are compared."""


@dataclass(frozen=True)
class Branch:
    """The episodes that took one call at a fork point.

    Attributes:
        action: The call.
        episodes: They, in order.
    """

    action: Action
    episodes: tuple[RecordedEpisode, ...]

    @property
    def value(self) -> float:
        """The mean score of its episodes."""
        return sum(episode.score for episode in self.episodes) / len(self.episodes)


@dataclass(frozen=True)
class ForkPoint:
    """A state from which different calls were taken.

    Attributes:
        step: Number of steps before it.
        branches: One for each call, in the order of the episodes.
    """

    step: int
    branches: tuple[Branch, ...]


def in_trees(episodes: Iterable[RecordedEpisode]) -> list[list[RecordedEpisode]]:
    """Return the episodes of each tree of forks with at least two of them.

    Raises:
        RecordError: An episode comes before itself.
    """
    trees: dict[tuple[str, int], list[RecordedEpisode]] = {}
    for episode in episodes:
        root = [episode.row.id, *(parent for parent, _ in parents(episode))][-1]
        trees.setdefault((str(episode.store.folder), root), []).append(episode)
    return [tree for tree in trees.values() if len(tree) > 1]


def in_groups(episodes: Iterable[RecordedEpisode]) -> list[list[RecordedEpisode]]:
    """Return the attempts at each instance of a task with at least two of them."""
    groups: dict[str, list[RecordedEpisode]] = {}
    for episode in episodes:
        plan, row = episode.row.plan, episode.row
        name = codec.canonical((plan.task, plan.seed, row.instruction, row.params))
        groups.setdefault(name, []).append(episode)
    return [group for group in groups.values() if len(group) > 1]


def find_forks(episodes: Sequence[RecordedEpisode]) -> Iterator[ForkPoint]:
    """Yield the fork points of episodes with one beginning, the earliest first.

    Calls that lead to different observations from one state stay apart from then on, but are one
    branch at the fork point.
    """
    waiting = [(0, list(episodes))]
    while waiting:
        step, here = waiting.pop(0)
        going_on = [episode for episode in here if len(episode.steps) > step]
        calls: dict[str, list[RecordedEpisode]] = {}
        states: dict[str, list[RecordedEpisode]] = {}
        for episode in going_on:
            taken = episode.steps[step]
            calls.setdefault(codec.canonical(taken.action), []).append(episode)
            states.setdefault(step_key(taken), []).append(episode)
        if len(calls) > 1:
            branches = (Branch(own[0].steps[step].action, tuple(own)) for own in calls.values())
            yield ForkPoint(step, tuple(branches))
        waiting += [(step + 1, own) for own in states.values() if len(own) > 1]


def alike(one: Action, other: Action, similarity: float) -> bool:
    """Return whether two calls are nearly the same.

    Calls of different tools never are, and neither are calls with other numbers or identifiers
    with digits, because one digit may be all that matters.

    Args:
        one: A call.
        other: Another call.
        similarity: Smallest ratio of equal words (`difflib.SequenceMatcher`) of calls that are
            nearly the same, 0..1.
    """
    if one.tool != other.tool:
        return False
    first, second = ([*_words(action.arguments)] for action in (one, other))
    if first == second:
        return True
    with_digits = ([w for w in words if any(map(str.isdigit, w))] for words in (first, second))
    if len({tuple(words) for words in with_digits}) > 1:
        return False
    return are_alike(first[:_COMPARED], second[:_COMPARED], similarity)


def _words(value: Any) -> Iterator[str]:
    """Yield the words and signs of a call's arguments, in the order of their names."""
    if isinstance(value, Mapping):
        for name in sorted(value):
            yield str(name)
            yield from _words(value[name])
    elif isinstance(value, str):
        yield from _WORD.findall(value)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _words(each)
    else:
        yield str(value)
