"""Frames of a client that come whole, in parts, several at once, or broken; over a real socket."""

import asyncio
import base64
import json
import os
import struct
from collections import Counter

import pytest
from live_server import TOKEN, live_server

from agentgym.session import websocket_connection
from agentgym.session.frames import BINARY, TEXT, head, text_at

HELLO = {"type": "hello", "version": 1}
RESET = {"type": "reset", "call": 1, "seed": 0}


def frame(content, first=TEXT, *, mask=b"\x01\x80\x7f\xff", long=False):
    """Return a masked frame of RFC 6455; ``long`` writes its length in 8 bytes."""
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    size = len(content)
    if long or size >= 2**16:
        length = struct.pack(">BQ", 0x80 | 127, size)
    elif size >= 126:
        length = struct.pack(">BH", 0x80 | 126, size)
    else:
        length = bytes([0x80 | size])
    masked = bytes(c ^ mask[i % 4] for i, c in enumerate(content))
    return bytes([first]) + length + mask + masked


def add(call, n=2):
    action = {"tool": "add", "arguments": {"n": n}}
    return {"type": "step", "call": call, "episode": "e1", "action": action}


class Client:
    """A WebSocket client that sends the bytes that a test wants."""

    async def __aenter__(self):
        return self

    async def __aexit__(self, *failure):
        self.writing.close()

    async def connect(self, server):
        self.reading, self.writing = await asyncio.open_connection("127.0.0.1", server.port)
        key = base64.b64encode(os.urandom(16)).decode()
        self.writing.write(
            f"GET /v1/session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        await self.reading.readuntil(b"\r\n\r\n")
        return self

    def send(self, *frames):
        self.writing.write(b"".join(frames))

    async def read(self):
        """Return the first byte and the content of the next frame that is no ping."""
        async with asyncio.timeout(20):
            first, length = await self.reading.readexactly(2)
            if length == 126:
                (length,) = struct.unpack(">H", await self.reading.readexactly(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", await self.reading.readexactly(8))
            return first, await self.reading.readexactly(length)

    async def told(self):
        first, content = await self.read()
        assert first == TEXT
        return json.loads(content)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with live_server(tmp_path_factory.mktemp("frames") / "run") as server:
        yield server


async def begun(server):
    client = await Client().connect(server)
    client.send(frame(HELLO))
    await client.told()
    client.send(frame(RESET))
    await client.told()
    return client


async def test_messages_count_once_however_their_bytes_arrive(server, monkeypatch):
    short = []
    text = websocket_connection.text_at
    monkeypatch.setattr(
        websocket_connection, "text_at", lambda *data: (short.append(text(*data)), short[-1])[1]
    )
    async with await begun(server) as client:
        whole = frame(add(2))
        client.send(whole)
        total = 2
        assert f"it is {total}" in (await client.told())["observation"]["text"]
        assert short[-1] is not None
        for call, cut in enumerate((1, 2, 3, 7, len(whole) - 1), 3):
            data = frame(add(call))
            client.send(data[:cut])
            await asyncio.sleep(0.01)
            client.send(data[cut:])
            total += 2
            assert f"it is {total}" in (await client.told())["observation"]["text"]
        # Two in one write; parts with a ping between them; a part of the next message behind one.
        short.clear()
        client.send(frame(add(8)), frame(add(9)))
        assert [(await client.told())["call"] for _ in range(2)] == [8, 9]
        assert len([found for found in short if found]) == 2
        content, ping = json.dumps(add(10)).encode(), frame(b"still there", 0x89)
        client.send(frame(content[:9], 0x01), ping, frame(content[9:], 0x80))
        assert await client.read() == (0x8A, b"still there")
        assert (await client.told())["call"] == 10
        following = frame(add(12))
        client.send(frame(add(11)), following[:5])
        assert (await client.told())["call"] == 11
        client.send(following[5:])
        assert "it is 22" in (await client.told())["observation"]["text"]
        # The short way is open again.
        short.clear()
        client.send(frame(add(13)))
        assert (await client.told())["call"] == 13 and short[-1] is not None
        # A longer header than needed is legal, and the parser keeps all that follows.
        client.send(frame(add(14), long=True))
        client.send(frame(add(15)))
        assert [(await client.told())["call"] for _ in range(2)] == [14, 15]
        state = {"type": "state", "call": 16}
        client.send(frame(state))
        assert (await client.told())["episodes"][0]["steps"] == 14


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(b"\xff\xfe{}"), 1007),
        (frame(add(2))[:1] + bytes([5]) + b"hello", 1002),
        (frame(b"{", 0x01) + frame(add(2)), 1002),
        (frame(add(2), TEXT | 0x40), 1002),
        (struct.pack(">BBQ", TEXT, 0xFF, 2**40) + b"\x00" * 4, 1009),
        (struct.pack(">BBQ", TEXT, 0xFF, 2**63) + b"\x00" * 4, 1009),
    ],
    ids=["no UTF-8", "no mask", "text within parts", "reserved bit", "too large", "too long"],
)
async def test_a_broken_frame_closes_the_connection_and_does_nothing(server, data, code):
    async with await begun(server) as client:
        client.send(data)
        first, content = await client.read()
        assert (first, int.from_bytes(content[:2], "big")) == (0x88, code)
        assert await client.reading.read() == b""


async def test_messages_behind_the_hello_wait_for_the_welcome(server):
    async with await Client().connect(server) as client:
        client.send(frame(HELLO), frame(RESET), frame(add(2)))
        assert [(await client.told())["type"] for _ in range(3)] == ["welcome", "reply", "reply"]


async def test_many_messages_in_one_write_are_each_done_once(server):
    async with await begun(server) as client:
        # A repeated one and a broken one are among them, and more than are answered at a time.
        steps = [frame(add(call)) for call in (*range(2, 12), 11)]
        asked = [frame({"type": "state", "call": call}) for call in range(13, 313)]
        client.send(*steps, frame({"type": "step", "call": 12}), *asked)
        answers = [await client.told() for _ in range(12 + 300)]
        calls = Counter(answer["call"] for answer in answers)
        assert calls == Counter([*range(2, 313), 11])
        told = {answer["call"]: answer for answer in answers}
        assert told[12]["code"] == "bad_message"
        assert "it is 20" in told[11]["observation"]["text"]
        assert told[312]["episodes"][0]["steps"] == 10


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536])
def test_a_whole_frame_is_read_at_every_length(size):
    content = b"x" * size
    whole = frame(content)
    expected = (content.decode(), len(whole)) if size < 2**16 else None
    assert text_at(whole, 0, 2**20) == expected
    assert text_at(whole, 0, size - 1) is None
    assert text_at(whole + b"\x81", 0, 2**20) == expected
    assert text_at(whole[:-1], 0, 2**20) is None
    assert text_at(frame(content, BINARY), 0, 2**20) is None
    assert text_at(whole, len(whole), 2**20) is None
    if expected is not None:
        before = frame({"of": "another"})
        found = text_at(before + whole + whole, len(before), 2**20)
        assert found == (content.decode(), len(before) + len(whole))
    sent = head(TEXT, size) + content
    assert sent[:1] == b"\x81" and len(sent) - size == (
        2 if size < 126 else 4 if size < 2**16 else 10
    )
