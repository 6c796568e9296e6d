"""A served environment answers those who show the token, and reads no endless request."""

import httpx
import pytest

from agentgym.session.accounts import new_token
from agentgym.session.admission import MAX_BODY, Admission


async def echo(scope, receive, send):
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            size = -1
            break
        size += len(message["body"])
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


async def post(token, headers=None, content=b"hello"):
    transport = httpx.ASGITransport(app=Admission(echo, token))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.post("/mcp", headers=headers or {}, content=content)


@pytest.mark.parametrize(
    ("shown", "status"),
    [
        ("Bearer secret", 200),
        ("bearer   secret", 200),
        ("Bearer secre", 401),
        ("Bearer secrets", 401),
        ("Bearer ", 401),
        ("Basic secret", 401),
        ("secret", 401),
        ("", 401),
        ("Bearer \xe9", 401),
    ],
)
async def test_the_token_is_asked_for(shown, status):
    reply = await post("secret", {"Authorization": shown.encode("latin-1")})
    assert reply.status_code == status
    assert (reply.headers.get("www-authenticate") == "Bearer") is (status == 401)


async def test_without_a_token_everybody_is_served():
    assert (await post("")).text == "5"


async def test_a_request_is_bounded_whether_it_tells_its_length_or_not():
    assert (await post("", content=b"x" * (MAX_BODY + 1))).status_code == 413
    assert (await post("", {"Content-Length": "x"})).status_code == 413

    async def endless():
        for _ in range(MAX_BODY // 2**16 + 2):
            yield b"x" * 2**16

    assert (await post("", content=endless())).text == "-1"


async def test_a_request_with_a_million_values_is_cut_off_before_it_is_parsed():
    assert (await post("", content=b"[" + b"[]," * 1_000_000 + b"[]]")).text == "-1"
    texts = b'["' + b"[,{" * 300_000 + b'"]'
    assert (await post("", content=texts)).text == str(len(texts))


def test_tokens_differ():
    assert len({new_token() for _ in range(10)}) == 10 and len(new_token()) >= 40
