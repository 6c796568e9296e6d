"""Ports of the guest's loopback: listening sockets, and connections to its servers."""

from __future__ import annotations

import errno
import os

from agentgym.sandbox.inside.messages import OpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

    from agentgym.sandbox.inside.loop import Loop, Timer
    from agentgym.sandbox.inside.messages import Reply

BACKLOG = 128


def listen(port: int) -> int:
    """Return a socket that listens on a port of the loopback.

    Without SO_REUSEADDR and SO_REUSEPORT, no other socket can listen there while any process
    holds this one open.
    """
    import _socket

    link = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        link.bind(("127.0.0.1", port))
        link.listen(BACKLOG)
    except OSError as error:
        link.close()
        raise OpError("op", f"port {port}: {error.strerror}") from None
    return link.detach()


class Dial:
    """One attempt to connect to a port of the loopback, first over IPv4, then over IPv6."""

    def __init__(self, loop: Loop, port: int, deadline_s: float, reply: Reply) -> None:
        import _socket

        self.loop, self.port, self.reply = loop, port, reply
        self.ways = [(_socket.AF_INET, "127.0.0.1"), (_socket.AF_INET6, "::1")]
        self.link: _socket.socket | None = None
        self.timer: Timer | None = loop.later(deadline_s, self._expire)
        self._next()

    def _next(self) -> None:
        import _socket

        family, address = self.ways.pop(0)
        try:
            kind = _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK | _socket.SOCK_CLOEXEC
            self.link = _socket.socket(family, kind)
            code = self.link.connect_ex((address, self.port))
        except OSError as error:
            code = error.errno or errno.EIO
        if code in (0, errno.EINPROGRESS) and self.link is not None:
            self.loop.watch_write(self.link.fileno(), self._ready)
        else:
            self._failed(code)

    def _ready(self, fd: int) -> None:
        import _socket

        assert self.link is not None
        code = self.link.getsockopt(_socket.SOL_SOCKET, _socket.SO_ERROR)
        if code:
            self._failed(code)
            return
        self.loop.watch_write(fd, None)
        self.loop.cancel(self.timer)
        self.reply({}, b"", self.link.detach())

    def _failed(self, code: int) -> None:
        self._let_go()
        if self.ways:
            self._next()
        else:
            self.loop.cancel(self.timer)
            self.reply({"error": f"port {self.port}: {os.strerror(code)}", "kind": "op"})

    def _expire(self) -> None:
        self.ways.clear()
        self._failed(errno.ETIMEDOUT)

    def _let_go(self) -> None:
        if self.link is not None:
            self.loop.forget(self.link.detach())
            self.link = None
