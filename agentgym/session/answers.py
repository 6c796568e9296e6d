"""The answers to a remote caller: a reply, or a failure with a code; and the state of a session.

They hold no object of the engine, so that an adapter can write them in the form of its protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from agentgym.records import Json, Observation, Verdict


@dataclass(frozen=True, slots=True)
class Score:
    """The score of an episode as a caller may learn it, without the checks.

    Attributes:
        score: From 0 to 1.
        outcome: Whether the task is solved.
    """

    score: float
    outcome: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a call that was done.

    Attributes:
        episode: Id of the episode; for a fork, that of the new one.
        observation: First observation of a reset, else the last one of the episode.
        terminated: Whether the episode is over because the caller, or its sandbox, ended it.
        truncated: Whether the episode is over because its steps ran out.
        score: Score of an episode that is over, if the server tells scores.
        verdict: Its whole verdict, if the server tells verdicts.
        facts: At the start of an episode its ``task`` (id), ``seed`` and, if the server tells
            verdicts, ``params``.
    """

    episode: str
    observation: Observation
    terminated: bool = False
    truncated: bool = False
    score: Score | None = None
    verdict: Verdict | None = None
    facts: Mapping[str, Json] | None = None

    @property
    def over(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


class FailureCode(StrEnum):
    """The reason why a call was not done, or why its episode has no score."""

    INVALID = "invalid"
    """An argument has the wrong type or value; nothing was done."""
    FORBIDDEN = "forbidden"
    """This server does not allow it; nothing was done."""
    UNKNOWN_SESSION = "unknown_session"
    """No session has this token."""
    SESSION_OVER = "session_over"
    """The session begins no more episodes."""
    UNKNOWN_EPISODE = "unknown_episode"
    """The session has no episode of this id, or it was closed."""
    EPISODE_OVER = "episode_over"
    """The episode was over before the call; nothing was done."""
    UNSCORED = "unscored"
    """A boundary broke, or the server stopped: the episode is over and has no score."""
    UNSUPPORTED = "unsupported"
    """A part of the episode cannot be forked; the episode goes on."""
    BROKEN = "broken"
    """A fork failed; the episode goes on."""
    TOO_MANY = "too_many"
    """A bound on sessions, episodes or waiting calls is reached; nothing was done."""
    LATE = "late"
    """The call takes longer than a caller waits; the call goes on if it has begun."""
    NUMBER_TAKEN = "number_taken"
    """Another call had this number; nothing was done."""
    FORGOTTEN = "forgotten"
    """The call of this number was done, and its reply is not kept any more."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The answer to a call that was not done, or whose episode ended without a score.

    Attributes:
        code: The reason, for programs.
        message: What was seen, what was expected, and the next step.
        episode: Id of the episode that it concerns, else empty.
        score: Score of an episode that is over, if the server tells scores.
        verdict: Its whole verdict, if the server tells verdicts.
        status: Status of an episode without a score, such as ``"error:sandbox"``, else empty.
    """

    code: FailureCode
    message: str
    episode: str = ""
    score: Score | None = None
    verdict: Verdict | None = None
    status: str = ""

    @property
    def over(self) -> bool:
        """Whether the episode is over."""
        return self.code in (FailureCode.EPISODE_OVER, FailureCode.UNSCORED)


Answer: TypeAlias = Reply | Failure


@dataclass(frozen=True, slots=True)
class EpisodeState:
    """One episode of a session, as a caller that comes back finds it.

    Attributes:
        id: Id within the session.
        task: Its task.
        seed: Its seed.
        steps: Number of steps taken.
        over: Whether it is over.
        parent: Id of the episode from which it was forked, else empty.
        recorded_as: Number of the episode in the run.
    """

    id: str
    task: str
    seed: int
    steps: int
    over: bool
    parent: str
    recorded_as: int


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session, as a caller that comes back finds it.

    Attributes:
        episodes: Its episodes, in the order of their start; closed ones are left out.
        last_call: Largest number of a call that was accepted, 0 if no call had a number.
        over: Reason why it is over, empty while it lasts.
    """

    episodes: tuple[EpisodeState, ...]
    last_call: int
    over: str
