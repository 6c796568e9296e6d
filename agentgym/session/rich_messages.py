"""Spaces messages of very many values, so that the other clients of a server are answered.

To read and to execute such a message takes a tenth of a second, in which the event loop answers no
other client. Large texts are read quickly, and do not count.
"""

from __future__ import annotations

import asyncio
from typing import Final

from agentgym.session.accounts import Account

_RICH_BYTES: Final = 2**20
"""Memory of the values of a message that needs a turn; about 6,500 values."""

_BYTES_PER_S: Final = 32 * 2**20
"""Memory of values that the messages of all clients together may take in a second."""


class RichMessages:
    """Gives the accounts of a server their turns, one rich message each."""

    def __init__(self) -> None:
        self._turns: dict[Account, asyncio.Lock] = {}
        self._turn = asyncio.Lock()
        self._free_s = 0.0

    async def wait(self, account: Account, size: int, weight: int) -> None:
        """Wait until a message may be read, if it is rich.

        The messages of an account wait for each other before they wait for those of others.

        Args:
            account: Whose message it is.
            size: Length of its text.
            weight: Its `agentgym.records.bounds.weight_of`.
        """
        if not is_rich(size, weight):
            return
        loop = asyncio.get_running_loop()
        async with self._turns.setdefault(account, asyncio.Lock()), self._turn:
            await asyncio.sleep(self._free_s - loop.time())
            self._free_s = loop.time() + weight / _BYTES_PER_S


def is_rich(size: int, weight: int) -> bool:
    """Return whether a message with this length and weight has very many values."""
    return weight - size > _RICH_BYTES
