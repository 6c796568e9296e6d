"""The users of an environment server: accounts with tokens and quotas, read from a TOML file.

Tokens are compared by their digests and in constant time, with those of all accounts.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import Field

from agentgym.errors import ConfigError
from agentgym.manifest import Manifest, load_toml, show_path

VARIABLE: Final = "AGENTGYM_SERVE_TOKEN"
"""Environment variable with a token that the user chose."""

SHORTEST_TOKEN: Final = 16
"""Characters that a token has at least."""


def new_token() -> str:
    """Return an unguessable token: 32 random bytes, safe in a URL and a header."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Quota:
    """The quota of one account; None means no limit of its own.

    Attributes:
        sessions: Sessions that are not over.
        episodes: Live episodes.
        messages_per_s: Messages a second; so many may also come at once.
        messages: Messages altogether, since the start of the server.
        connections: WebSocket connections, and calls over HTTP that are under way.
        held_bytes: Bytes of messages that are not whole, not read or not answered yet.
    """

    sessions: int | None = None
    episodes: int | None = None
    messages_per_s: float | None = None
    messages: int | None = None
    connections: int | None = None
    held_bytes: int | None = None


@dataclass(eq=False, slots=True)
class Account:
    """One user of a server.

    Attributes:
        name: Its name, for the metrics and the log.
        quota: What it may use.
        messages: Messages that it has sent.
        connections: WebSocket connections that it has, and its calls over HTTP under way.
        held_bytes: Bytes that the server holds of its messages.
    """

    name: str
    quota: Quota = field(default_factory=Quota)
    messages: int = 0
    connections: int = 0
    held_bytes: int = 0
    _credit: float = 0.0
    _counted_s: float = 0.0

    def __post_init__(self) -> None:
        self._credit, self._counted_s = self._burst, time.monotonic()

    @property
    def _burst(self) -> float:
        return max(self.quota.messages_per_s or 0.0, 1.0)

    @property
    def is_used_up(self) -> bool:
        """Whether it has sent all messages that it may send."""
        return self.quota.messages is not None and self.messages >= self.quota.messages

    def take(self) -> float:
        """Count one message; return 0, or the seconds after which it may be sent."""
        rate = self.quota.messages_per_s
        if rate is not None:
            now_s = time.monotonic()
            earned = (now_s - self._counted_s) * rate
            self._credit = min(self._credit + earned, self._burst)
            self._counted_s = now_s
            if self._credit < 1.0:
                return (1.0 - self._credit) / rate
            self._credit -= 1.0
        self.messages += 1
        return 0.0

    @property
    def may_connect(self) -> bool:
        """Whether it may open another WebSocket connection."""
        return self.quota.connections is None or self.connections < self.quota.connections

    @property
    def holds_too_much(self) -> bool:
        """Whether the server holds more of its messages than it may."""
        return self.quota.held_bytes is not None and self.held_bytes > self.quota.held_bytes

    def hold(self, more_bytes: int) -> bool:
        """Count bytes of its messages that the server holds; negative for those it let go.

        Returns:
            Whether it may have them. Bytes are counted in either case.
        """
        self.held_bytes += more_bytes
        return more_bytes <= 0 or not self.holds_too_much


class Accounts:
    """The accounts of a server, found by their tokens.

    Args:
        tokens: Each account with its token. Empty: every client is let in, as one account.
        anyone: The account of clients without a token, if there are no tokens.
    """

    def __init__(
        self, tokens: Iterable[tuple[Account, str]], anyone: Account | None = None
    ) -> None:
        self._known = [(account, _digest(token)) for account, token in tokens]
        self._anyone = anyone if anyone is not None else Account("anyone")

    @property
    def are_open(self) -> bool:
        """Whether clients need no token."""
        return not self._known

    def share(self, whole: Quota) -> None:
        """Give each account its share of a server, where it has no quota of its own.

        One account can then never take what the others need. The share is what the quotas of
        others leave, divided by the number of accounts without one.

        Args:
            whole: What the server has of each kind; None for what is not shared.
        """
        accounts = [account for account, _ in self._known] or [self._anyone]
        for kind in ("sessions", "episodes", "connections", "held_bytes"):
            total = getattr(whole, kind)
            taken = [getattr(account.quota, kind) for account in accounts]
            if total is None or None not in taken:
                continue
            rest = total - sum(each for each in taken if each is not None)
            share = max(rest // taken.count(None), 1)
            for account, own in zip(accounts, taken, strict=True):
                if own is None:
                    account.quota = replace(account.quota, **{kind: share})

    def find(self, authorization: str) -> Account | None:
        """Return the account of a header ``Authorization: Bearer TOKEN``; None if it is unknown."""
        if self.are_open:
            return self._anyone
        scheme, _, shown = authorization.partition(" ")
        given = _digest(shown.strip() if scheme.lower() == "bearer" else "")
        found = None
        for account, digest in self._known:
            if hmac.compare_digest(digest, given):
                found = account
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


class _AccountManifest(Manifest):
    token: str = Field(min_length=SHORTEST_TOKEN, max_length=1_000)
    sessions: int | None = Field(default=None, gt=0)
    episodes: int | None = Field(default=None, gt=0)
    messages_per_s: float | None = Field(default=None, gt=0)
    messages: int | None = Field(default=None, gt=0)
    connections: int | None = Field(default=None, gt=0)


class _AccountsManifest(Manifest):
    accounts: dict[str, _AccountManifest] = Field(min_length=1)


def read_accounts(path: Path, general: Quota) -> Accounts:
    """Read the accounts of a server from a TOML file.

    Args:
        path: The file: a table ``[accounts.NAME]`` for each, with ``token`` and quotas.
        general: Quota of an account for what its table leaves out.

    Raises:
        ConfigError: Others can read the file, or it is wrong.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise ConfigError(f"{show_path(path)}: cannot be read: {error.strerror}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(
            f"{show_path(path)} holds tokens and other users can reach it (mode "
            f"{stat.S_IMODE(mode):o}); run: chmod 600 {show_path(path)}"
        )
    found = load_toml(path, _AccountsManifest, ConfigError).accounts
    owners: dict[str, str] = {}
    for name, each in found.items():
        if not all(c.isascii() and (c.isalnum() or c in "-_.") for c in name):
            raise ConfigError(
                f"{show_path(path)}: account {name!r:.60}: expected letters, digits, '-', '_', '.'"
            )
        owner = owners.setdefault(each.token, name)
        if owner != name:
            raise ConfigError(f"{show_path(path)}: accounts {owner!r} and {name!r} share a token")
    return Accounts(
        (
            Account(
                name,
                Quota(
                    each.sessions or general.sessions,
                    each.episodes or general.episodes,
                    each.messages_per_s or general.messages_per_s,
                    each.messages or general.messages,
                    each.connections or general.connections,
                ),
            ),
            each.token,
        )
        for name, each in found.items()
    )
