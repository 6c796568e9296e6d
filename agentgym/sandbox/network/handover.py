"""Checks of sockets that a guest hands over: its supervisor could pass any descriptor."""

from __future__ import annotations

import socket

from agentgym.errors import SandboxError


def accept_listener(passed: socket.socket, port: int) -> socket.socket:
    """Return a socket after checking that it listens on a TCP port of the IPv4 loopback.

    Raises:
        SandboxError: It does not listen there; it is then closed.
    """
    try:
        seen = (_is_tcp(passed), _listens(passed), passed.getsockname()[:2])
    except OSError as error:
        seen = (False, False, error.strerror)
    if seen != (True, True, ("127.0.0.1", port)):
        passed.close()
        raise SandboxError(f"the guest handed over no socket that listens on port {port}: {seen}")
    passed.setblocking(False)
    return passed


def accept_connection(passed: socket.socket, port: int) -> socket.socket:
    """Return a blocking socket after checking that it is connected to a TCP port of the loopback.

    Raises:
        SandboxError: It is not connected there; it is then closed.
    """
    try:
        seen = (_is_tcp(passed), _listens(passed), passed.getpeername()[:2])
    except OSError as error:
        seen = (False, False, error.strerror)
    if seen not in [(True, False, (host, port)) for host in ("127.0.0.1", "::1")]:
        passed.close()
        raise SandboxError(f"the guest handed over no connection to port {port}: {seen}")
    passed.setblocking(True)
    return passed


def _is_tcp(sock: socket.socket) -> bool:
    return (
        sock.family in (socket.AF_INET, socket.AF_INET6)
        and sock.type == socket.SOCK_STREAM
        and sock.proto == socket.IPPROTO_TCP
    )


def _listens(sock: socket.socket) -> bool:
    return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
