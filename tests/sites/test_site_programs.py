"""Programs behind sites that flood the process with their answers; no browser is started."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from agentgym.sites.program import ProgramSite


class Listening:
    """A sandbox whose program sends one answer to whatever comes."""

    def __init__(self, answer):
        self._answer = answer

    async def connect(self, port):
        here, there = socket.socketpair()
        threading.Thread(target=self._talk, args=(there,), daemon=True).start()
        return here

    def _talk(self, link):
        with link:
            link.recv(65_536)
            try:
                link.sendall(self._answer)
            except OSError:
                return


async def ask(answer):
    """Return the events of an answer, and how often another task had its turn meanwhile."""
    events, turns = [], []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(event):
        events.append(event)

    async def other():
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    scope = {"raw_path": b"/", "query_string": b"", "headers": [(b"host", b"a.example")]}
    scope |= {"scheme": "http", "method": "GET"}
    beside = asyncio.ensure_future(other())
    try:
        await ProgramSite(Listening(answer), 80)(scope, receive, send)
    finally:
        beside.cancel()
    return events, len(turns)


async def test_an_answer_in_tiny_parts_is_joined_and_lets_others_go_on():
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    events, turns = await ask(head + b"1\r\nx\r\n" * 5_000 + b"0\r\n\r\n")
    body = [event["body"] for event in events if event["type"] == "http.response.body"]
    assert b"".join(body) == b"x" * 5_000 and len(body) < 500
    assert turns > 80


async def test_interim_answers_are_bounded():
    early = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    last = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    events, _ = await ask(early * 3 + last)
    assert events[0]["status"] == 200 and events[1]["body"] == b"ok"
    with pytest.raises(ConnectionError, match="too many interim answers"):
        await ask(early * 5_000 + last)
