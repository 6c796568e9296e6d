"""A client of a server that answers what no server of agentgym answers."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from agentgym.env.remote import wire
from agentgym.env.remote.environment import RemoteEpisode
from agentgym.errors import ServerError
from agentgym.records import Observation

SEEN = wire.ObservationMessage(text="", data={}, effect="no_change")


def episode(answer):
    """Return an episode whose next call gets an answer."""

    async def call(kind, **fields):
        return answer, b""

    session = SimpleNamespace(call=call, is_over=False)
    environment = SimpleNamespace(session=session, tools=(), _forget=lambda one: None)
    reply = wire.ReplyMessage(type="reply", call=1, episode="e", observation=SEEN)
    return RemoteEpisode(environment, reply, Observation(""), ())


@pytest.mark.parametrize("score", [math.nan, math.inf])
@pytest.mark.parametrize("whole", [False, True], ids=["score", "verdict"])
async def test_a_score_that_is_no_number_is_no_answer(score, whole):
    told = {"score": score, "outcome": True}
    if whole:
        told = {"verdict": {"status": "scored", **told}}
    answer = wire.ReplyMessage(
        type="reply", call=2, episode="e", observation=SEEN, terminated=True, **told
    )
    with pytest.raises(ServerError, match="score"):
        await episode(answer).step({"tool": "look", "arguments": {}})


async def test_an_odd_verdict_of_broken_checks_is_no_answer():
    answer = wire.ErrorMessage(
        type="error",
        call=2,
        code="unscored",
        message="a check broke",
        status="error:verifier",
        verdict={"a": 1},
    )
    with pytest.raises(ServerError, match="verdict"):
        await episode(answer).step({"tool": "look", "arguments": {}})
