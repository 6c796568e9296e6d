"""The bounds of a server's connections; those of its sessions are in `SessionConfig`."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.env.remote import wire


@dataclass(frozen=True, slots=True)
class ServerBounds:
    """The bounds of the connections of an environment server.

    Attributes:
        message_bytes: Largest message of a client.
        hello_s: Seconds in which a connection has to send its hello.
        first_s: Seconds in which a client of OpenEnv, which says no hello, has to send its first
            message.
        connections: WebSocket connections and calls over HTTP, of all accounts.
        held_bytes: Bytes of messages of all accounts that are not whole, not read or not answered.
        resume_s: Seconds that a session stays without a connection. Then it ends, and its episodes
            are judged as they stand.
        send_s: Seconds in which a client has to take a reply; a slower one is disconnected.
        ping_s: Seconds between pings, and seconds in which a client has to answer one.
    """

    message_bytes: int = wire.MAX_MESSAGE_BYTES
    hello_s: float = 10.0
    first_s: float = 60.0
    connections: int = 1_000
    held_bytes: int = 256 * 2**20
    resume_s: float = 120.0
    send_s: float = 30.0
    ping_s: float = 20.0
