"""One connection to a server of OpenEnv: messages and their answers, one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from agentgym.env.remote.connecting import Connecting
from agentgym.env.remote.openenv.address import OpenEnvAddress
from agentgym.errors import ServerError
from agentgym.installation import missing_extra
from agentgym.records import Json, bounds

try:
    from websockets.asyncio.client import ClientConnection
    from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
except ImportError as error:
    raise missing_extra("websockets", "server") from error

OPEN_S: Final = 20.0
"""Seconds for one attempt to connect."""

_LEAVE_S: Final = 5.0
_ANSWER_BYTES: Final = 64 * 2**20
_MESSAGE_CHARS: Final = 500
_DIGITS: Final = 300
"""Digits of an integer that fits a float."""


class Connection:
    """One WebSocket to a server of OpenEnv: it holds one episode at most."""

    def __init__(self, address: OpenEnvAddress, socket: ClientConnection) -> None:
        self.address, self._socket = address, socket
        self.lost = self._answered = False

    @classmethod
    async def open(cls, address: OpenEnvAddress) -> Connection:
        """Connect.

        Raises:
            ServerError: The server cannot be reached, or refuses.
        """
        secure: dict[str, Any] = {"ssl": address.trust} if address.trust is not None else {}
        try:
            socket = await Connecting(
                address.endpoint,
                additional_headers=address.headers,
                max_size=_ANSWER_BYTES,
                open_timeout=OPEN_S,
                proxy=None if address.is_loopback else True,
                **secure,
            )
        except InvalidStatus as error:
            status = error.response.status_code
            hint = "; pass server_token=" if status in (401, 403) else ""
            said = f"{address.url} answered {status} where a server of OpenEnv has /ws{hint}"
            raise ServerError("unauthorized" if hint else "unreachable", said) from error
        except (OSError, WebSocketException, EOFError, ImportError) as error:
            raise ServerError("unreachable", f"{address.url} cannot be reached: {error}") from error
        return cls(address, socket)

    async def ask(self, kind: str, data: Mapping[str, Json] | None = None) -> dict[str, Any]:
        """Send a message and return the answer, with its ``type`` and ``data``.

        Raises:
            ServerError: The connection ended, or no answer came in time; it is not used again.
        """
        message = {"type": kind} if data is None else {"type": kind, "data": dict(data)}
        try:
            async with asyncio.timeout(self.address.call_s):
                await self._socket.send(json.dumps(message, allow_nan=False))
                text = await self._socket.recv()
            self._answered = True
            return _answer_of(text, self.address.url)
        except TimeoutError:
            self._drop()
            told = f"{self.address.url} did not answer {kind} within {self.address.call_s:g} s"
            raise ServerError("late", told) from None
        except ConnectionClosed as error:
            self._drop()
            raise ServerError("stopped", self._ended(kind, error)) from error
        except BaseException:  # an answer would be taken for that of the next message
            self._drop()
            raise

    def _ended(self, kind: str, error: ConnectionClosed) -> str:
        told = f"{self.address.url} closed the connection"
        if error.rcvd is not None:
            reason = f"{error.rcvd.code} {error.rcvd.reason}".strip()
            told += f" ({reason[:_MESSAGE_CHARS]})"
        if kind == "reset" or not self._answered:
            told += "; it does so if all its places are taken: see max_concurrent_envs there"
        return told

    def _drop(self) -> None:
        self.lost = True
        self._socket.transport.abort()

    async def close(self) -> None:
        """End the server's episode and the connection. Never raises."""
        if self.lost:
            return
        self.lost = True
        # Without this message a server may keep the place until its own timeout.
        with contextlib.suppress(ConnectionClosed, TimeoutError, OSError):
            async with asyncio.timeout(_LEAVE_S):
                await self._socket.send('{"type": "close"}')
                await self._socket.close()
        self._socket.transport.abort()


def _answer_of(text: str | bytes, url: str) -> dict[str, Any]:
    """Read one message. Raises ServerError for anything else."""
    if bounds.is_too_rich(text):
        raise ServerError("bad_message", f"{url} sent a message with far too many values")
    try:
        answer = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_short
        )
    except (ValueError, RecursionError) as error:
        raise ServerError("bad_message", f"{url} sent no JSON: {error}") from error
    if not isinstance(answer, dict) or not isinstance(answer.get("data", {}), dict):
        raise ServerError("bad_message", f"{url} sent JSON that is no message of OpenEnv")
    return answer


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError("a number is too large")
    return number


def _short(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError("a number has too many digits")
    return int(text)


def code_of(answer: Mapping[str, Any]) -> str:
    """Return the code of an error; the type of any other answer."""
    return str(answer.get("data", {}).get("code", answer.get("type")))[:100]


def said_in(answer: Mapping[str, Any]) -> str:
    """Return the message of an error, one of JSON-RPC included; empty without one."""
    data = answer.get("data", {})
    error = data.get("error")
    inner = error.get("message") if isinstance(error, Mapping) else None
    return encodable(str(data.get("message") or inner or ""))[:_MESSAGE_CHARS]


def encodable(text: str) -> str:
    """Return a text with lone surrogates replaced, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()
