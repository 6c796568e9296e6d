"""Standard input and output of a client that floods, breaks off, or never reads."""

import asyncio
import os
from contextlib import suppress

import pytest

from agentgym.services import stdio
from agentgym.services.stdio import ClientGoneError, Input, Output


@pytest.fixture
def pipe():
    """Return both ends of a pipe; a thread may wait at the one, so the other is closed first."""
    reading, writing = os.pipe()
    yield reading, writing
    for end in (writing, reading):
        with suppress(OSError):
            os.close(end)


async def test_lines_arrive_whole_and_one_that_is_too_long_does_not(pipe, monkeypatch):
    monkeypatch.setattr(stdio, "MAX_LINE", 10)
    given = Input(pipe[0], asyncio.Event())
    os.write(pipe[1], b"first\nsec")
    assert await anext(given) == "first"
    os.write(pipe[1], b"ond\n\xff\n" + b"x" * 11 + b"\n" + b"y" * 30)
    os.write(pipe[1], b"y\nlast")
    os.close(pipe[1])
    assert [line[:9] async for line in given] == [
        *("second", "\ufffd", "a message", "a message", "last"),
    ]


async def test_what_is_read_ahead_is_bounded_and_the_end_is_seen_before_it_is_read(
    pipe, monkeypatch
):
    monkeypatch.setattr(stdio, "READ_AHEAD", 3 * 1_100)
    ended = asyncio.Event()
    given = Input(pipe[0], ended)
    for _ in range(9):
        os.write(pipe[1], b"x" * 1_000 + b"\n")
    os.close(pipe[1])
    lines = [await anext(given)]
    assert not ended.is_set(), "three more wait, five are not read yet"
    for _ in range(5):
        lines.append(await anext(given))
    await asyncio.wait_for(ended.wait(), 20)
    lines += [line async for line in given]
    assert lines == ["x" * 1_000] * 9


async def test_a_reader_that_takes_nothing_is_gone_after_a_while(pipe, monkeypatch):
    monkeypatch.setattr(stdio, "STALL_S", 0.05)
    taken = Output(pipe[1], asyncio.Event())
    with pytest.raises(ClientGoneError):
        await taken.write("x" * 2**20)


async def test_a_reader_that_leaves_is_gone_sooner(pipe, monkeypatch):
    monkeypatch.setattr(stdio, "PARTING_S", 0.05)
    parting = asyncio.Event()
    taken = Output(pipe[1], parting)
    await taken.write("small")
    parting.set()
    await taken.write(" and fast")
    assert os.read(pipe[0], 100) == b"small and fast"
    with pytest.raises(ClientGoneError):
        await taken.write("x" * 2**20)


async def test_a_write_that_nobody_takes_can_be_cancelled(pipe):
    taken = Output(pipe[1], asyncio.Event())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(taken.write("x" * 2**20), 0.05)


async def test_a_closed_pipe_is_a_client_that_is_gone(pipe):
    taken = Output(pipe[1], asyncio.Event())
    os.close(pipe[0])
    for _ in range(2):
        with pytest.raises(ClientGoneError):
            await taken.write("x")
