"""The connection to the control server of a desktop, through the supervisor's channel.

A request is four bytes of length and a JSON object; the reply is the same and then four bytes of
length and bytes. Before the first request goes the token, which only root can read in the guest.
"""

from __future__ import annotations

import asyncio
import json
import struct
from socket import socket
from typing import Any, Final

from agentgym.desktop.messages import MOST_BYTES, R, read_reply
from agentgym.errors import ActionError, SurfaceEndedError, SurfaceError
from agentgym.protocols import Sandbox

PORT: Final = 5970
_TOKEN: Final = "/run/desktop/ready"
_MOST_DATA_BYTES: Final = 64 * 2**20
_REPLY_S: Final = 30.0


class ControlLink:
    """A connection to the control server of one desktop.

    Args:
        sandbox: The computer with the desktop.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._socket: socket | None = None
        self._is_closed = True
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        """Connect.

        Raises:
            SurfaceError: The sandbox has no desktop.
            SandboxError: The sandbox does not answer.
        """
        token = await self._sandbox.run_as_root(["/bin/cat", _TOKEN], timeout_s=_REPLY_S)
        if token.exit_code:
            raise SurfaceError(
                "surface 'desktop' needs a computer with a desktop, as the recipe desktop makes "
                f"it: {token.stderr.decode('utf-8', 'replace').strip()}"
            )
        connected = await self._sandbox.connect(PORT)
        connected.setblocking(False)
        self._socket, self._is_closed = connected, False
        await asyncio.get_running_loop().sock_sendall(connected, token.stdout)

    async def ask(self, kind: type[R], request: str, *, within_s: float = 0.0, **given: Any) -> R:
        """Return the answer to a request that brings no bytes; see `ask_bytes`."""
        told, _ = await self.ask_bytes(kind, request, within_s=within_s, **given)
        return told

    async def ask_bytes(
        self, kind: type[R], request: str, *, within_s: float = 0.0, **given: Any
    ) -> tuple[R, bytes]:
        """Return the answer to a request, and the bytes that it brings.

        The server and all that it depends on run in the guest. Whatever ends it once an agent acts
        there is the agent's doing, so the episode is then judged as it is.

        Args:
            kind: Form of the answer.
            request: Name of the request.
            within_s: Seconds that the request itself may take.
            **given: Its arguments.

        Raises:
            ActionError: The control server cannot do it now.
            SurfaceEndedError: It has ended, does not answer, or answers something else.
            SurfaceError: The surface is closed.
            SandboxEndedError: The sandbox has ended.
        """
        if self._is_closed:
            raise SurfaceError("the desktop surface is closed; attach another one")
        async with self._turn:
            try:
                async with asyncio.timeout(within_s + _REPLY_S):
                    await self._send({"op": request, **given})
                    head = await self._piece(MOST_BYTES)
                    data = await self._piece(_MOST_DATA_BYTES)
                told = read_reply(kind, head)
            except (OSError, EOFError, TimeoutError, ValueError) as error:
                self._drop()
                # A sandbox that has ended says so itself.
                await self._sandbox.processes()
                raise SurfaceEndedError(
                    f"the desktop does not answer {request!r}: {type(error).__name__} {error}"
                ) from None
        if isinstance(told, str):
            raise ActionError(f"the desktop cannot {request} now: {told}")
        return told, data

    async def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        data = struct.pack(">I", len(body)) + body
        await asyncio.get_running_loop().sock_sendall(self._connected(), data)

    async def _piece(self, most: int) -> bytes:
        (size,) = struct.unpack(">I", await self._receive(4))
        if size > most:
            raise ValueError(f"{size} bytes are too many")
        return await self._receive(size)

    async def _receive(self, size: int) -> bytes:
        """Return so many bytes; a stream would copy those of a picture several times."""
        data, loop = bytearray(size), asyncio.get_running_loop()
        left = memoryview(data)
        while left:
            count = await loop.sock_recv_into(self._connected(), left)
            if not count:
                raise EOFError("it has closed the connection")
            left = left[count:]
        return bytes(data)

    def _connected(self) -> socket:
        if self._socket is None:
            raise ConnectionError("the connection is closed")
        return self._socket

    def _drop(self) -> None:
        connected, self._socket = self._socket, None
        if connected is not None:
            connected.close()

    async def close(self) -> None:
        """Close the connection. Never raises."""
        self._is_closed = True
        self._drop()
