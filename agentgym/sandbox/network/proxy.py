"""The proxy of one sandbox: accepts the guest's connections and serves HTTP or SOCKS on them.

The supervisor hands over the listening socket, which belongs to the guest. The sandbox therefore
has no route out, and the host has no port that another guest could connect to.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket

from agentgym.sandbox.network.acceptor import Acceptor
from agentgym.sandbox.network.gate import Gate
from agentgym.sandbox.network.http import HttpConversation
from agentgym.sandbox.network.journal import Journal
from agentgym.sandbox.network.policy import Policy
from agentgym.sandbox.network.socks import VERSION, serve_socks
from agentgym.sandbox.network.stream import Stream

PORT = 3128
"""Port of the proxy on the guest's 127.0.0.1."""
MAX_CONNECTIONS = 256
HEAD_S = 30.0
IDLE_S = 300.0


class Proxy:
    """Serves a listening socket from now until `close`.

    Args:
        listener: The non-blocking listening socket; the proxy closes it.
        policy: The hosts that the guest may reach.
        journal: Records every attempt.
    """

    def __init__(self, listener: socket.socket, policy: Policy, journal: Journal) -> None:
        self._gate = Gate(policy, journal)
        self._acceptor = Acceptor(listener, self._serve, MAX_CONNECTIONS)

    async def close(self) -> None:
        """Close every connection and the listener, and wait until that is done."""
        await self._acceptor.close()

    async def _serve(self, connection: socket.socket) -> None:
        guest = Stream(connection)
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            async with asyncio.timeout(HEAD_S):
                first = await guest.receive()
            guest.put_back(first)
            if first[:1] == bytes((VERSION,)):
                await serve_socks(guest, self._gate, head_s=HEAD_S, idle_s=IDLE_S)
            elif first:
                conversation = HttpConversation(guest, self._gate, head_s=HEAD_S, idle_s=IDLE_S)
                await conversation.serve()
