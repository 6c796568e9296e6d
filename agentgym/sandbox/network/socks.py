"""The SOCKS 5 side of the proxy (RFC 1928): no authentication, CONNECT only, names or addresses."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress

from agentgym.sandbox.network.gate import Gate, RefusedError, UnreachableError
from agentgym.sandbox.network.stream import Stream, relay

VERSION = 5
_NO_AUTHENTICATION, _NO_METHOD = 0, 0xFF
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_OK, _FAILED, _REFUSED, _NO_COMMAND, _NO_KIND = 0, 1, 2, 7, 8
_REPLIES = {
    errno.ENETUNREACH: 3,
    errno.ENOENT: 4,
    errno.EHOSTUNREACH: 4,
    errno.ECONNREFUSED: 5,
    errno.ETIMEDOUT: 6,
}


class _DeclinedError(Exception):
    """A request that the proxy declines with a reply code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


async def serve_socks(guest: Stream, gate: Gate, *, head_s: float, idle_s: float) -> None:
    """Serve one SOCKS connection to its end.

    Raises:
        EOFError, OSError, TimeoutError: The guest left or did not send its request in time.
    """
    async with asyncio.timeout(head_s):
        _, count = await guest.receive_exactly(2)
        if _NO_AUTHENTICATION not in await guest.receive_exactly(count):
            await guest.send(bytes((VERSION, _NO_METHOD)))
            return
        await guest.send(bytes((VERSION, _NO_AUTHENTICATION)))
    try:
        async with asyncio.timeout(head_s):
            host, port = await _read_request(guest, gate)
        server, attempt = await gate.connect(host, port, "socks5")
    except _DeclinedError as error:
        await guest.send(_reply(error.code))
        return
    except RefusedError:
        await guest.send(_reply(_REFUSED))
        return
    except UnreachableError as error:
        await guest.send(_reply(_REPLIES.get(error.code, _FAILED)))
        return
    with contextlib.closing(server):
        await guest.send(_reply(_OK))
        await relay(guest, server, attempt, idle_s)


async def _read_request(guest: Stream, gate: Gate) -> tuple[str, int]:
    version, command, _, kind = await guest.receive_exactly(4)
    if kind == _NAME:
        (size,) = await guest.receive_exactly(1)
        host = (await guest.receive_exactly(size)).decode("utf-8", "backslashreplace")
    elif kind in (_IPV4, _IPV6):
        raw = await guest.receive_exactly(4 if kind == _IPV4 else 16)
        host = str(ipaddress.ip_address(raw))
    else:
        raise _DeclinedError(_NO_KIND)
    port = int.from_bytes(await guest.receive_exactly(2), "big")
    if version != VERSION or command != _CONNECT:
        gate.refuse(host, port, "socks5", "only CONNECT is served")
        raise _DeclinedError(_NO_COMMAND)
    return host, port


def _reply(code: int) -> bytes:
    # The reply hides the proxy's own address from the guest.
    return bytes((VERSION, code, 0, _IPV4, 0, 0, 0, 0, 0, 0))
