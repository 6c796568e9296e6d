"""Checks the results of workers before a run learns from them.

A worker may be broken or run other code. What it returns has to answer the attempt that it was
given, and its rewards have to be the scores that it has recorded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from agentgym.errors import RecordError
from agentgym.record.episode_rows import EpisodeRow
from agentgym.train.rollout_work import Attempt, PlayedAttempt
from agentgym.train.rollouts import Group, Trajectory
from agentgym.train.samples import TokenSequence

_LARGEST_ID: Final = 2**31 - 1
_LARGEST_PICTURE: Final = 3 << 25
"""Numbers of a picture."""


def check_played(played: object, attempt: Attempt, newest: int, *, forks: bool) -> None:
    """Refuse a result that does not answer an attempt.

    Args:
        played: What a worker returned.
        attempt: What it was asked to play.
        newest: The newest version of the policy.
        forks: Whether attempts are trees.

    Raises:
        RecordError: The result is of another form, or answers another attempt.
    """
    try:
        fault = _fault(played, attempt, newest, forks)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        fault = f"it has another form: {error}"
    if fault:
        raise RecordError(f"a worker returned no result of its attempt: {fault:.300}")


def check_scores(part: Group, recorded: Iterable[EpisodeRow]) -> None:
    """Refuse rewards that a worker has not recorded as scores.

    Raises:
        RecordError: A reward is the score of no recorded episode.
    """
    scores = Counter(row.verdict.score for row in recorded if row.verdict and row.verdict.scored)
    if more := Counter(each.reward for each in part.trajectories) - scores:
        raise RecordError(f"a worker returned a reward of {min(more)}, and recorded no such score")


def _fault(played: object, attempt: Attempt, newest: int, forks: bool) -> str:
    if not isinstance(played, PlayedAttempt) or not isinstance(played.part, Group):
        return f"it is of type {type(played).__name__}"
    part = played.part
    if part.assignment != attempt.assignment:
        return f"it belongs to another group: {part.assignment}"
    if not forks and len(part.trajectories) + len(part.missing) != 1:
        return f"it has {len(part.trajectories)} trajectories, and {len(part.missing)} are missing"
    if not all(isinstance(reason, str) for reason in part.missing):
        return "the reasons for missing episodes are no texts"
    if not (math.isfinite(played.busy_s) and played.busy_s >= 0 and played.failures >= 0):
        return f"it took {played.busy_s} s and had {played.failures} failures"
    if not all(-1 <= parent < node for node, parent in enumerate(part.parents)):
        return "its tree is no tree"
    faults = (_trajectory_fault(each, len(part.parents), newest) for each in part.trajectories)
    return next(filter(None, faults), "")


def _trajectory_fault(one: Trajectory, nodes: int, newest: int) -> str:
    length, oldest = len(one.states), one.tokens.oldest
    if isinstance(one.reward, bool) or not 0 <= one.reward <= 1:
        return f"its reward is {one.reward!r}, expected 0 to 1"
    if oldest is not None and not 0 <= oldest <= newest:
        return f"it was sampled by version {oldest}, and the newest is {newest}"
    if any(values and len(values) != length for values in (one.step_rewards, one.nodes)):
        return f"it has {length} completions and another number of rewards or nodes"
    if not all(map(math.isfinite, one.step_rewards)):
        return "a reward of a step is not finite"
    if not all(-1 < node < nodes for node in one.nodes) or not -1 <= one.leaf < nodes:
        return "it ends in no node of its tree"
    faults = (_sequence_fault(each, length) for each in one.tokens.sequences)
    return next(filter(None, faults), "")


def _sequence_fault(one: TokenSequence, completions: int) -> str:
    columns: Sequence[Sequence[object]] = (one.ids, one.mask, one.logprobs, one.completions)
    if len({len(column) for column in columns}) != 1:
        return "its tokens, log-probabilities and masks differ in length"
    if not all(type(value) is int and 0 <= value <= _LARGEST_ID for value in one.ids):
        return "its tokens are no token ids"
    if not all(type(value) is int and -1 <= value < completions for value in one.completions):
        return f"its tokens belong to more than {completions} completions"
    if not all(map(_is_picture, one.pictures)):
        return "its pictures are no pictures"
    if not np.isfinite(np.asarray(one.logprobs, dtype=np.float64)).all():
        return "its log-probabilities are not finite"
    return ""


def _is_picture(value: object) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim != 3:
        return False
    return bool(value.shape[2] == 3 and 0 < value.size <= _LARGEST_PICTURE)
