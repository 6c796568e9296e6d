"""Answers about an episode that is over: as much of its ending as its caller may know."""

from __future__ import annotations

from dataclasses import replace

from agentgym.env.outcome import Ending, failed
from agentgym.errors import RecordError
from agentgym.records import Verdict
from agentgym.session.answers import Failure, FailureCode, Reply, Score
from agentgym.session.config import SessionConfig


def tell_end(reply: Reply, ending: Ending, config: SessionConfig) -> Reply:
    """Return the reply of the operation that ended an episode, with its score."""
    return replace(reply, score=_score(ending, config), verdict=_verdict(ending, config))


def refusal(episode_id: str, ending: Ending, config: SessionConfig) -> Failure:
    """Return the answer to an operation on an episode that is over."""
    found, told = ending.verdict, _verdict(ending, config)
    if found.scored:
        text = "the episode is over; begin another one"
        return Failure(FailureCode.EPISODE_OVER, text, episode_id, _score(ending, config), told)
    # The message of a broken check may reveal what it looks for.
    why = "" if found.status == "error:verifier" else f": {ending.reason}"
    return Failure(
        FailureCode.UNSCORED,
        f"{found.status}{why}",
        episode_id,
        verdict=told,
        status=found.status,
    )


def unrecorded(error: Exception) -> Ending:
    """Return the ending of an episode that a failure kept from being recorded."""
    if isinstance(error, RecordError):
        return Ending(Verdict("error:record", False, 0.0), str(error))
    return failed(error)


def _verdict(ending: Ending, config: SessionConfig) -> Verdict | None:
    return ending.verdict if config.tell_verdicts else None


def _score(ending: Ending, config: SessionConfig) -> Score | None:
    verdict = ending.verdict
    return Score(verdict.score, verdict.outcome) if config.tell else None
