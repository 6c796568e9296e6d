"""A client of a server that answers what no server of agentgym answers."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from websockets.asyncio.server import serve

from agentgym.env.remote import wire
from agentgym.env.remote.address import Address
from agentgym.env.remote.connection import RemoteSession
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


WELCOME = {
    "type": "welcome",
    "version": 1,
    "server": "another",
    "session": "token",
    "last_call": 0,
    "tells": "score",
    "may_fork": False,
    "tasks": ["t"],
    "bounds": {
        "message_bytes": 1_000,
        "sessions": 1,
        "episodes": 1,
        "idle_s": 1.0,
        "resume_s": 1.0,
    },
}


@asynccontextmanager
async def answering(*answers):
    """Serve a WebSocket that gives each message the next answer, the last one again."""

    async def talk(socket):
        left = list(answers)
        async for _ in socket:
            await socket.send(left.pop(0) if len(left) > 1 else left[0])

    async with serve(talk, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def busy(after):
    """Return an answer that asks for patience."""
    return json.dumps(
        {"type": "error", "call": 1, "code": "too_fast", "message": "", "retry_after_s": after}
    )


@pytest.mark.parametrize("after", [1e9, math.inf, math.nan, -1.0])
async def test_no_server_has_its_client_wait_longer_than_it_wants(after):
    began_s = time.monotonic()
    async with answering(busy(after)) as url:
        with pytest.raises(ServerError):
            await RemoteSession.open(Address(url, reconnect_s=0.2))
    async with answering(json.dumps(WELCOME), busy(after)) as url:
        session = await RemoteSession.open(Address(url, call_s=0.5, reconnect_s=0.2))
        with pytest.raises(ServerError):
            await session.call(wire.Describe, task="t")
        await session.abandon()
    assert time.monotonic() - began_s < 10


async def test_an_answer_of_millions_of_values_is_not_read():
    rich = json.dumps({**WELCOME, "more": []})[:-2] + "[]," * 3_000_000 + "[]]}"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="values"):
            wire.read_response(rich)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(rich)
    finally:
        tracemalloc.stop()
