"""A client's session on an environment server: one WebSocket, and another one after it breaks.

Calls are numbered. After a dropped connection the session is resumed by its token, and the calls
without an answer are sent again with their numbers, so that the server executes each once.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from agentgym.env.remote import wire
from agentgym.env.remote.address import TOKEN_VARIABLE, Address
from agentgym.env.remote.connecting import Connecting
from agentgym.errors import ServerError
from agentgym.installation import missing_extra

try:
    from websockets.asyncio.client import ClientConnection
    from websockets.exceptions import (
        ConnectionClosed,
        InvalidHandshake,
        InvalidStatus,
        WebSocketException,
    )
    from websockets.protocol import State
except ImportError as error:
    raise missing_extra("websockets", "server") from error

_OPEN_S: Final = 20.0
"""Seconds for one attempt to connect and to be welcomed."""

_PING_S: Final = 20.0
_LEAVE_S: Final = 120.0
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 2.0

_ENDED: Final = {
    1001: ("stopped", "the server ended; its sessions are gone"),
    1012: ("stopped", "the server ended; its sessions are gone"),
    1009: ("too_large", "the server takes no message of this size"),
    4001: ("replaced", "another client came back to this session with its token"),
}
"""Close codes after which nothing is tried again."""

Response: TypeAlias = tuple[wire.Response, bytes]


@dataclass(eq=False, slots=True)
class _Pending:
    """A call without an answer."""

    text: str
    answer: asyncio.Future[Response]


class RemoteSession:
    """A session on a server; `open` begins it.

    Args:
        address: Address of the server.

    Attributes:
        address: As given.
        welcome: What the server told at the start.
        reconnected: How often the connection was made again.
        users: Environments that use it.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.welcome: wire.Welcome
        self.reconnected = self.users = 0
        self._socket: ClientConnection | None = None
        self._pending: dict[int, _Pending] = {}
        self._unsent: list[str] = []
        self._number = 0
        self._over: ServerError | None = None
        self._running: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, address: Address) -> RemoteSession:
        """Begin a session.

        Raises:
            ServerError: The server cannot be reached, or refuses.
        """
        session = cls(address)
        try:
            socket = await session._connect("")
        except OSError as error:
            raise _unreachable(address, error) from error
        session._running = asyncio.create_task(session._run(socket))
        return session

    @property
    def is_over(self) -> bool:
        """Whether no call can be made any more."""
        return self._over is not None

    async def call(self, kind: type[Any], **fields: Any) -> Response:
        """Make a call and return its answer, an `ErrorMessage` included.

        Args:
            kind: Class of the message.
            fields: Its fields, without the number.

        Raises:
            ServerError: The session is over or cannot be resumed, or no answer came in time.
        """
        self._number += 1
        number = self._number
        text = kind.model_construct(call=number, **fields).model_dump_json()
        deadline = time.monotonic() + self.address.call_s
        while True:
            message, picture = await self._answered(number, text, deadline)
            wait_s = _wait_s(message)
            if wait_s is None:
                return message, picture
            if time.monotonic() + wait_s >= deadline:
                raise self._late()
            await asyncio.sleep(wait_s)

    async def abandon(self) -> None:
        """Drop the connection and come back no more, without telling the server."""
        self._end(ServerError("left", "the session was left"))
        await self._stop()

    async def leave(self) -> None:
        """End the session; the server judges its episodes. Never raises."""
        if self._over is None:
            with contextlib.suppress(ServerError, TimeoutError):
                async with asyncio.timeout(_LEAVE_S):
                    await self.call(wire.Leave)
        self._end(ServerError("left", "the session was left"))
        await self._stop()

    async def _stop(self) -> None:
        socket, self._socket = self._socket, None
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})
        if socket is not None:
            socket.transport.abort()

    # --- one call --------------------------------------------------------------------------

    async def _answered(self, number: int, text: str, deadline: float) -> Response:
        """Send a message and wait for its answer, over as many connections as it takes."""
        if self._over is not None:
            raise self._over
        pending = _Pending(text, asyncio.get_running_loop().create_future())
        self._pending[number] = pending
        try:
            if self._socket is not None:
                self._send_soon(text)
            async with asyncio.timeout_at(
                asyncio.get_running_loop().time() + deadline - time.monotonic()
            ):
                return await pending.answer
        except TimeoutError:
            raise self._late() from None
        finally:
            del self._pending[number]

    def _send_soon(self, *texts: str) -> None:
        """Send messages at the end of this turn of the event loop, with its others in one write.

        The server reads them together, and answers them together, which costs both sides less.
        """
        if texts and not self._unsent:
            asyncio.get_running_loop().call_soon(self._send_together)
        self._unsent += texts

    def _send_together(self) -> None:
        texts, self._unsent = self._unsent, []
        socket = self._socket
        # If the connection is lost, they are sent again after the reconnection.
        if texts and socket is not None and socket.state is State.OPEN:
            for text in texts:
                socket.protocol.send_text(text.encode())
            socket.transport.write(b"".join(socket.protocol.data_to_send()))

    def _late(self) -> ServerError:
        told = f"{self.address.url} did not answer a call within {self.address.call_s:g} s"
        return ServerError("late", told)

    # --- connections -----------------------------------------------------------------------

    async def _run(self, socket: ClientConnection) -> None:
        """Serve the calls until the session is over; whatever fails, none waits for ever."""
        try:
            await self._stay_connected(socket)
        except Exception as error:  # noqa: BLE001 - the boundary: the calls raise it
            why = ServerError(
                "internal",
                f"{self.address.url}: the client failed: {type(error).__name__}: {error}; "
                "this is a bug of agentgym",
            )
            why.__cause__ = error
            self._end(why)
            if self._socket is not None:
                self._socket.transport.abort()

    async def _stay_connected(self, socket: ClientConnection) -> None:
        """Read answers, and connect again after each dropped connection."""
        while True:
            await self._read(socket)
            self._socket = None
            code = socket.close_code or 1006
            if self._over is not None:
                socket.transport.abort()
                return
            if code in _ENDED:
                self._end(ServerError(_ENDED[code][0], f"{self.address.url}: {_ENDED[code][1]}"))
                return
            try:
                socket = await self._reconnect()
            except ServerError as error:
                self._end(error)
                return
            self.reconnected += 1
            self._unsent.clear()
            self._send_soon(*(self._pending[number].text for number in sorted(self._pending)))

    async def _read(self, socket: ClientConnection) -> None:
        """Hand out answers until the connection ends."""
        async for frame in _frames(socket):
            try:
                message, picture = wire.read_response(frame)
            except ValueError as error:
                told = f"{self.address.url} sent no message of the protocol: {error}"
                self._end(ServerError("bad_message", told))
                await socket.close()
                return
            call = None if isinstance(message, wire.Welcome) else message.call
            if call is None and isinstance(message, wire.ErrorMessage):
                self._end(ServerError(message.code, message.message))
                return
            pending = None if call is None else self._pending.get(call)
            if pending is not None and not pending.answer.done():
                pending.answer.set_result((message, picture))

    def _end(self, why: ServerError) -> None:
        """Fail all calls, and those to come."""
        if self._over is None:
            self._over = why
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(why)

    async def _reconnect(self) -> ClientConnection:
        """Come back to the session after a dropped connection.

        Raises:
            ServerError: The server refuses, or cannot be reached for too long.
        """
        deadline = time.monotonic() + self.address.reconnect_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return await self._connect(self.welcome.session)
            except OSError as error:
                if time.monotonic() + pause_s >= deadline:
                    raise _unreachable(self.address, error) from error
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _connect(self, token: str) -> ClientConnection:
        """Make a connection and say hello.

        Args:
            token: Token of the session to resume; empty for a new one.

        Raises:
            OSError: It may work later.
            ServerError: The server refuses.
        """
        address = self.address
        headers = {"Authorization": f"Bearer {address.token}"} if address.token else {}
        secure = {"ssl": address.trust} if address.trust is not None else {}
        try:
            socket = await Connecting(
                address.endpoint,
                additional_headers=headers,
                compression=None,
                max_size=wire.MAX_REPLY_BYTES,
                open_timeout=_OPEN_S,
                ping_interval=_PING_S,
                ping_timeout=_PING_S,
                proxy=None if address.is_loopback else True,
                **secure,  # type: ignore[arg-type]
            )
        except InvalidStatus as error:
            raise _refused(address, error) from error
        except (InvalidHandshake, EOFError, TimeoutError) as error:
            raise ConnectionError(str(error) or "no answer") from error
        except (WebSocketException, ssl.SSLError, ImportError) as error:  # A proxy may be unusable.
            raise ServerError("unreachable", f"{address.url}: {error}") from error
        try:
            self.welcome = await self._greet(socket, token)
        except BaseException:
            await socket.close()
            raise
        self._socket = socket
        return socket

    async def _greet(self, socket: ClientConnection, token: str) -> wire.Welcome:
        hello = wire.Hello(
            version=wire.VERSION,
            name=self.address.name,
            session=token,
            pictures="rgb" if self.address.is_loopback else "png",
        )
        try:
            await socket.send(hello.model_dump_json())
            async with asyncio.timeout(_OPEN_S):
                message, _ = wire.read_response(await socket.recv())
        except (ConnectionClosed, TimeoutError) as error:
            raise ConnectionError(f"the connection ended before the welcome: {error}") from error
        except ValueError as error:
            told = f"{self.address.url} sent no message of the protocol: {error}"
            raise ServerError("bad_message", told) from error
        if isinstance(message, wire.Welcome):
            return message
        if not isinstance(message, wire.ErrorMessage):
            told = f"{self.address.url}: expected a welcome, got {message.type}"
            raise ServerError("bad_message", told)
        if message.code == "too_fast":
            await asyncio.sleep(min(message.retry_after_s or 1.0, self.address.reconnect_s))
            raise ConnectionError(message.message)
        if message.code == "unknown_session":
            told = (
                f"{self.address.url} does not know this session any more: the server was started "
                "again, or the connection was lost for too long; reset begins no episode here, "
                "make a new environment"
            )
            raise ServerError(message.code, told)
        raise ServerError(message.code, f"{self.address.url}: {message.message}")


async def _frames(socket: ClientConnection) -> AsyncIterator[str | bytes]:
    """Return the frames of a connection until it ends, however it ends."""
    while True:
        try:
            yield await socket.recv()
        except ConnectionClosed:
            return


def _wait_s(message: wire.Response) -> float | None:
    """Return after how long a call is sent again; None if it is answered."""
    if not isinstance(message, wire.ErrorMessage):
        return None
    if message.code == "too_fast":
        return message.retry_after_s or 1.0
    return 0.0 if message.code == "late" else None


def _unreachable(address: Address, error: OSError) -> ServerError:
    told = f"{address.url} cannot be reached: {error}; is 'agentgym serve' running there?"
    return ServerError("unreachable", told)


def _refused(address: Address, error: InvalidStatus) -> ServerError:
    status, body = error.response.status_code, error.response.body or b""
    said = bytes(body[:300]).decode(errors="replace").strip()
    if status == 401:
        shown = "the token is wrong" if address.token else "it asks for a token"
        hint = f"pass server_token=, or set {TOKEN_VARIABLE}"
        return ServerError("unauthorized", f"{address.url} refused the connection: {shown}; {hint}")
    told = f"{address.url} answered {status}: {said or 'no environment server is there'}"
    return ServerError("unreachable", told)
