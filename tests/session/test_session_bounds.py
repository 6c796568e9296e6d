"""Sessions in a counting world: bounds, tokens, and what is forgotten."""

import asyncio

import pytest
from counter_sessions import ADD, TASK, begun, config_of, store

from agentgym.errors import PolicyError
from agentgym.session import session as session_module
from agentgym.session.answers import Failure, FailureCode, Reply
from agentgym.session.server import SessionServer

__all__ = ["store"]

LEFT = PolicyError("the client left")


async def test_a_session_has_only_so_many_live_episodes(store):
    session, id = await begun(store, max_episodes=2)
    second = (await session.fork(id)).episode
    for call in (session.reset(), session.fork(id)):
        refused = await call
        assert refused.code is FailureCode.TOO_MANY and "2 episodes" in refused.message
    await session.finish(second)
    assert isinstance(await session.reset(), Reply)


async def test_calls_at_once_do_not_exceed_the_bounds(store):
    server = SessionServer(config_of(store, max_episodes=3, max_live=4))
    one, other = server.open("test"), server.open("test")
    await asyncio.gather(*(session.reset() for session in (one, other) for _ in range(6)))
    assert (one.live, other.live, len(store.episodes())) == (3, 1, 4)
    await asyncio.gather(*(other.fork("e1") for _ in range(3)))
    await one.finish("e1")
    await asyncio.gather(*(other.fork("e1") for _ in range(3)))
    assert (one.live, other.live, len(store.episodes())) == (2, 2, 5)


async def test_a_server_has_only_so_many_live_episodes(store):
    server = SessionServer(config_of(store, max_live=1))
    one, other = server.open("test"), server.open("test")
    id = (await one.reset()).episode
    assert (await other.reset()).code is FailureCode.TOO_MANY
    assert "1 episodes are being played" in server.open("test").message
    await one.finish(id)
    assert isinstance(await other.reset(), Reply)
    assert [row.plan.trial for row in store.episodes()] == [0, 1]


async def test_a_server_has_only_so_many_sessions(store):
    server = SessionServer(config_of(store, max_sessions=1))
    first = server.open("test")
    assert server.open("test").code is FailureCode.TOO_MANY
    await first.end(LEFT)
    assert server.open("test").token != first.token


async def test_a_caller_comes_back_by_its_token(store):
    server = SessionServer(config_of(store))
    session = server.open("test")
    id = (await session.reset(call=1)).episode
    await session.step(id, ADD, call=2)
    back = server.find(session.token)
    assert back is session
    (state,) = back.state().episodes
    assert (state.id, state.task, state.seed, state.steps, state.over) == (id, TASK, 5, 1, False)
    assert (state.recorded_as, back.state().last_call, back.state().over) == (1, 2, "")
    await back.end(LEFT)
    (state,) = server.find(session.token).state().episodes
    assert (state.steps, state.over, server.find(session.token).over) == (1, True, str(LEFT))


@pytest.mark.parametrize("token", ["", "x" * 43, None, 5, ["a"], b"x"])
async def test_a_wrong_token_finds_no_session(store, token):
    server = SessionServer(config_of(store))
    server.open("test")
    assert server.find(token).code is FailureCode.UNKNOWN_SESSION


async def test_tokens_cannot_be_guessed_from_others(store):
    server = SessionServer(config_of(store))
    tokens = {server.open("test").token for _ in range(100)}
    assert len(tokens) == 100 and min(map(len, tokens)) >= 43
    assert len({token[:6] for token in tokens}) == 100


async def test_old_sessions_and_episodes_are_forgotten(store, monkeypatch):
    monkeypatch.setattr("agentgym.session.server.KEPT_SESSIONS", 2)
    monkeypatch.setattr(session_module, "KEPT_EPISODES", 2)
    server = SessionServer(config_of(store))
    tokens = []
    for _ in range(4):
        session = server.open("test")
        tokens.append(session.token)
        await session.end(LEFT)
    server.open("test")
    found = [not isinstance(server.find(token), Failure) for token in tokens]
    assert found == [False, False, True, True]
    session = server.open("test")
    for _ in range(4):
        await session.finish((await session.reset()).episode)
    await session.reset()
    assert [state.id for state in session.state().episodes] == ["e4", "e5"]


async def test_answers_of_sessions_that_are_over_are_bounded_together(store, monkeypatch):
    monkeypatch.setattr("agentgym.session.server.KEPT_BYTES", 3_000)
    provider = {"murmur": dict.fromkeys(range(20), "m" * 400)}
    server, tokens = SessionServer(config_of(store, provider=provider)), []
    for _ in range(4):
        session = server.open("test")
        tokens.append(session.token)
        await session.reset(call=1)
        await session.step("e1", ADD, call=2)
        assert 1_500 < session.kept_bytes < 3_000
        await session.end(LEFT)
    server.open("test")
    found = [not isinstance(server.find(token), Failure) for token in tokens]
    assert found == [False, False, False, True]


@pytest.mark.parametrize("name", ["\x1b[31mred", "a/../b", "", "x" * 10**6, "claude-code 2"])
async def test_a_name_is_safe_in_the_record(store, name):
    session = SessionServer(config_of(store)).open("mcp", name)
    await session.reset()
    agent = store.episode(1).plan.agent
    assert agent.startswith("mcp:") and len(agent) <= 44 and agent[4:].strip()
    assert all(c.isalnum() or c in "-_. :" for c in agent)
    assert ("client" in agent) is (name == "")
