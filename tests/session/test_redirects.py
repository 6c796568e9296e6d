"""A client of an environment server goes to no other address than the one that it was given."""

import asyncio

import pytest
from live_server import TOKEN

from agentgym.env.remote.address import Address
from agentgym.env.remote.connection import RemoteSession
from agentgym.errors import ServerError


@pytest.mark.parametrize(
    "location",
    ["ws://127.0.0.1:{}/v1/session", "http://127.0.0.1:{}/", "ws://[", "ws://a:99999999/", "/x"],
)
async def test_a_redirect_is_refused(location):
    asked = []

    async def note(reader, writer):
        asked.append(await reader.readline())
        writer.close()

    async def redirect(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 302 Found\r\nLocation: {location.format(other)}\r\n"
        writer.write(f"{head}Content-Length: 0\r\n\r\n".encode())
        writer.close()

    async with await asyncio.start_server(note, "127.0.0.1", 0) as there:
        other = there.sockets[0].getsockname()[1]
        async with await asyncio.start_server(redirect, "127.0.0.1", 0) as here:
            url = f"ws://127.0.0.1:{here.sockets[0].getsockname()[1]}"
            with pytest.raises(ServerError, match="answered 302"):
                async with asyncio.timeout(20):
                    await RemoteSession.open(Address(url, TOKEN))
    assert not asked
