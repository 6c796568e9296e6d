"""Many agents of one endpoint share its HTTP client, which the last of them closes."""

import asyncio
import ssl

import numpy as np
from chat_server import ChatServer, call, says

from agentgym.chat import connections, picture
from agentgym.chat.address import Address
from agentgym.chat.connections import give_back, lend
from agentgym.chat.endpoint import Endpoint
from agentgym.chat.picture import RecentPictures
from agentgym.records import ToolSpec

BASH = ToolSpec("bash", "Run a command.", {"type": "object", "properties": {}})
URL = "http://127.0.0.1:9/v1"


async def test_equal_addresses_share_a_client_until_the_last_gives_it_back():
    first, other_key = lend(URL, "key"), lend(URL, "other")
    assert lend(URL, "key") is first and other_key is not first
    await give_back(URL, "key")
    assert not first.is_closed
    await give_back(URL, "key")
    assert first.is_closed and not other_key.is_closed
    await give_back(URL, "other")
    assert lend(URL, "key") is not first
    await give_back(URL, "key")


def test_each_event_loop_has_clients_of_its_own():
    async def lent():
        client = lend(URL, "key")
        await give_back(URL, "key")
        return client

    assert asyncio.run(lent()) is not asyncio.run(lent())


def test_clients_of_all_loops_share_the_certificates_which_take_long_to_read(monkeypatch):
    async def lent():
        lend(URL, "key")
        await give_back(URL, "key")

    asyncio.run(lent())
    read, real = [], ssl.SSLContext.load_verify_locations

    def load(self, *where, **named):
        read.append(where)
        return real(self, *where, **named)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", load)
    asyncio.run(lent())
    assert not read
    connections._trusted.cache_clear()
    asyncio.run(lent())
    assert read


async def test_an_endpoint_answers_after_another_one_of_its_address_is_closed():
    dialogue = [{"role": role, "content": "go"} for role in ("system", "user")]
    request = {"model": "m", "messages": dialogue, "tools": [BASH.to_openai()]}
    with ChatServer([says(call("bash", {"command": "ls"}))]) as server:
        address = Address(server.url, "key")
        one, other = (Endpoint(address, timeout_s=30, retries=0) for _ in range(2))
        await asyncio.gather(one.complete(request), other.complete(request))
        await one.close()
        await one.close()
        assert (await other.complete(request)).message.tool_calls
        assert (await one.complete(request)).message.tool_calls
        for endpoint in (one, other):
            await endpoint.close()


def test_a_picture_that_is_sent_again_is_compressed_once(monkeypatch):
    compressed = []
    real = picture.as_png
    monkeypatch.setattr(picture, "as_png", lambda image: compressed.append(image) or real(image))
    pictures = RecentPictures()
    images = [np.full((2, 3, 3), shade, np.uint8) for shade in range(6)]
    for step in range(6):
        parts = [pictures.part(image) for image in images[max(0, step - 2) : step + 1]]
        assert parts == [
            picture.picture_part(image) for image in images[max(0, step - 2) : step + 1]
        ]
    made = sum(image is images[2] for image in compressed)
    assert made == 1 + 3  # the expected parts of three steps are made anew
