"""Counts the bytes of one request that a server holds for an account, until it is answered."""

from __future__ import annotations

from agentgym.session.accounts import Account


class HeldTooMuch(Exception):
    """The account has more bytes of messages under way than it may."""


class Held:
    """The bytes of one request.

    Args:
        account: Whose request it is.
    """

    def __init__(self, account: Account) -> None:
        self._account, self._bytes = account, 0

    def add(self, more_bytes: int) -> None:
        """Count a part of the request.

        Raises:
            HeldTooMuch: The account may not have it.
        """
        self._bytes += more_bytes
        if not self._account.hold(more_bytes):
            raise HeldTooMuch(
                f"account {self._account.name!r} has {self._account.held_bytes} bytes of messages "
                f"under way; expected at most {self._account.quota.held_bytes}: come back later"
            )

    def let_go(self) -> None:
        """Count nothing of the request any more."""
        self._account.hold(-self._bytes)
        self._bytes = 0
