"""Opens WebSockets to servers of environments, at the address that the user gave.

websockets follows redirects. A server, or a stranger in its place, would choose what this machine
asks, and which host gets the token of the session.
"""

from __future__ import annotations

from agentgym.installation import missing_extra

try:
    from websockets.asyncio.client import connect
except ImportError as error:
    raise missing_extra("websockets", "server") from error


class Connecting(connect):
    """An attempt to connect for which a redirect is a refusal."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Return the refusal."""
        return exc
