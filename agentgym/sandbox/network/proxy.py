"""The proxy of one sandbox: accepts the guest's connections and serves HTTP or SOCKS on them.

The supervisor hands over the listening socket, which belongs to the guest. The sandbox therefore
has no route out, and the host has no port that another guest could connect to.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from functools import partial

from agentgym.sandbox.network.gate import Gate
from agentgym.sandbox.network.http import HttpConversation
from agentgym.sandbox.network.journal import Journal
from agentgym.sandbox.network.policy import Policy
from agentgym.sandbox.network.socks import VERSION, serve_socks
from agentgym.sandbox.network.stream import Stream, is_scarce

_log = logging.getLogger(__name__)

PORT = 3128
"""Port of the proxy on the guest's 127.0.0.1."""
MAX_CONNECTIONS = 256
HEAD_S = 30.0
IDLE_S = 300.0
_RETRY_S = 0.1


class Proxy:
    """Serves a listening socket from now until `close`.

    Args:
        listener: The non-blocking listening socket; the proxy closes it.
        policy: The hosts that the guest may reach.
        journal: Records every attempt.
    """

    def __init__(self, listener: socket.socket, policy: Policy, journal: Journal) -> None:
        self._listener = listener
        self._gate = Gate(policy, journal)
        self._serving: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        self._closed = False
        self._resume()

    async def close(self) -> None:
        """Close every connection and the listener, and wait until that is done."""
        self._closed = True
        self._pause()
        self._listener.close()
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    def _resume(self) -> None:
        self._pause()
        if not self._closed and len(self._serving) < MAX_CONNECTIONS:
            self._loop.add_reader(self._listener, self._accept)

    def _pause(self) -> None:
        """Stop accepting; new connections wait in the guest's kernel."""
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)

    def _rest(self) -> None:
        self._pause()
        self._retry = self._loop.call_later(_RETRY_S, self._resume)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError:
            self._rest()
            return
        if is_scarce(sock):
            sock.close()
            self._rest()
            return
        sock.setblocking(False)
        guest = Stream(sock)
        task = asyncio.create_task(self._serve(guest))
        self._serving.add(task)
        task.add_done_callback(partial(self._served, guest))
        if len(self._serving) >= MAX_CONNECTIONS:
            self._pause()

    def _served(self, guest: Stream, task: asyncio.Task[None]) -> None:
        # Done here, because a task that is cancelled before its first step never runs.
        guest.close()
        self._serving.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            _log.error("the proxy of a sandbox failed over one connection: %r", fault)
        if self._retry is None:
            self._resume()

    async def _serve(self, guest: Stream) -> None:
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            async with asyncio.timeout(HEAD_S):
                first = await guest.receive()
            guest.put_back(first)
            if first[:1] == bytes((VERSION,)):
                await serve_socks(guest, self._gate, head_s=HEAD_S, idle_s=IDLE_S)
            elif first:
                conversation = HttpConversation(guest, self._gate, head_s=HEAD_S, idle_s=IDLE_S)
                await conversation.serve()
