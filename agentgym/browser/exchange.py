"""One request of a browser, answered by an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import SplitResult, unquote

import h11

from agentgym.browser.requests import Entry
from agentgym.protocols import ASGIApplication, ASGIMessage

ANSWER_S: Final = 30.0
"""Seconds that an application may take until it has answered."""
RESPONSE_BYTES: Final = 64 * 2**20
"""Bytes of one response; the connection ends where a longer one is cut."""
_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade")
)


class RequestBody:
    """The body of a request, read when the application asks for it.

    Args:
        event: Returns the next event of the connection.
        most: Largest number of bytes.
    """

    def __init__(self, event: Callable[[], Awaitable[object]], most: int) -> None:
        self._event, self._most = event, most
        self.size, self.ended = 0, False
        self.start = b""

    async def receive(self) -> ASGIMessage:
        """Return the next part as an ASGI event."""
        if self.ended:
            return {"type": "http.disconnect"}
        part = await self._event()
        if isinstance(part, h11.Data):
            self.size += len(part.data)
            if self.size > self._most:
                self.ended = True
                return {"type": "http.disconnect"}
            if len(self.start) < 65_536:
                self.start += bytes(part.data)
            return {"type": "http.request", "body": bytes(part.data), "more_body": True}
        self.ended = True
        if isinstance(part, h11.EndOfMessage):
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def drain(self) -> None:
        """Read what the application has left unread."""
        while not self.ended:
            await self.receive()


class Exchange:
    """A request, and the answer to it.

    Args:
        request: Head of the request.
        url: Its target.
        body: Its body.
        entry: Where the answer is noted.
        send: Sends an event to the browser.
    """

    def __init__(
        self,
        request: h11.Request,
        url: SplitResult,
        body: RequestBody,
        entry: Entry,
        send: Callable[[h11.Event], Awaitable[None]],
    ) -> None:
        self._request, self._url, self._body = request, url, body
        self._entry, self._send = entry, send
        self._begun = self._ended = False

    async def refuse(self, status: int, reason: str) -> None:
        """Answer without the application."""
        self._entry.refused = reason
        await self._plain(status, reason)

    async def fail(self, status: int, reason: str) -> None:
        """Answer for a site that cannot."""
        self._entry.failed = reason
        await self._plain(status, reason)

    async def answer(self, application: ASGIApplication) -> None:
        """Have an application answer; its errors and delays become answers too."""
        failure: tuple[int, str] | None = None
        try:
            async with asyncio.timeout(ANSWER_S):
                await application(self._scope(), self._body.receive, self._receive_answer)
        except TimeoutError:
            failure = (504, f"the site gave no answer in {ANSWER_S:g} s")
        except (OSError, h11.ProtocolError):
            raise
        except Exception as error:  # noqa: BLE001  # the application is the task's own code
            failure = (500, f"the site failed: {type(error).__name__}: {error}"[:500])
        self._entry.request_bytes = self._body.size
        self._entry.read_form(self._body.start)
        if failure is None and not self._ended:
            failure = (500, "the site ended its answer too early")
        if failure is not None:
            self._entry.failed = failure[1]
            if self._begun:
                raise ConnectionError(failure[1])
            await self._plain(*failure)

    def _scope(self) -> ASGIMessage:
        url, request = self._url, self._request
        host = url.hostname or ""
        headers = [
            (name, value) for name, value in request.headers if name not in _HOP and name != b"host"
        ]
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.method.decode(),
            "scheme": url.scheme,
            "path": unquote(url.path or "/"),
            "raw_path": (url.path or "/").encode("latin-1"),
            "query_string": url.query.encode("latin-1"),
            "root_path": "",
            "headers": [(b"host", host.encode()), *headers],
            "client": ("127.0.0.1", 1),
            "server": (host, 443 if url.scheme == "https" else 80),
        }

    async def _receive_answer(self, message: ASGIMessage) -> None:
        if message["type"] == "http.response.start":
            headers = [
                (bytes(name).lower(), bytes(value)) for name, value in message.get("headers", ())
            ]
            self._entry.begin_answer(message["status"], headers)
            kept = [(name, value) for name, value in headers if name not in _HOP]
            self._begun = True
            await self._body.drain()
            await self._send(h11.Response(status_code=message["status"], headers=kept))
            return
        if message["type"] != "http.response.body" or self._ended:
            return
        part = bytes(message.get("body", b""))
        self._entry.response_bytes += len(part)
        if self._entry.response_bytes > RESPONSE_BYTES:
            self._entry.failed = f"cut after {RESPONSE_BYTES} bytes"
            raise ConnectionError("the answer is too long")
        if part:
            await self._send(h11.Data(data=part))
        if not message.get("more_body", False):
            self._ended = True
            await self._send(h11.EndOfMessage())

    async def _plain(self, status: int, reason: str) -> None:
        body = reason.encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
        ]
        self._entry.begin_answer(status, headers)
        self._entry.response_bytes = len(body)
        if self._request.method != b"CONNECT":
            await self._body.drain()
        await self._send(h11.Response(status_code=status, headers=headers))
        if self._request.method != b"HEAD":
            await self._send(h11.Data(data=body))
        await self._send(h11.EndOfMessage())
