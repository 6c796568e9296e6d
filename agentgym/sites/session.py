"""Sessions of a site: a signed cookie, so that a site keeps no state outside the services.

The key depends on the episode's task and seed, so that the same actions give the same cookies, and
a fork of the episode accepts the cookies that its browser takes over.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from typing import Any, Final

COOKIE: Final = "session"
_MOST_BYTES: Final = 3500
"""Browsers drop a cookie of more than 4,096 bytes."""


class Session:
    """Values that a site keeps about its visitor between requests.

    Args:
        key: Secret of one site in one episode.
        cookies: Cookies of the request; the first with a valid signature counts, if any has one.

    Attributes:
        values: Values by name, as JSON; change them in place.
    """

    def __init__(self, key: bytes, *cookies: str) -> None:
        self._key = key
        opened = (values for cookie in cookies if (values := self._opened(cookie)) is not None)
        self.values: dict[str, Any] = next(opened, {})
        self._before = self._packed()

    @property
    def user(self) -> str:
        """Name of the account that is logged in; empty without a login."""
        return str(self.values.get("user", ""))

    def log_in(self, user: str) -> None:
        """Begin a session of an account; the values of the one before are gone."""
        self.values = {"user": user}

    def log_out(self) -> None:
        """End the session."""
        self.values = {}

    @property
    def csrf(self) -> str:
        """Token that every form of this session carries."""
        return self._sign(b"csrf:" + self.user.encode())[:32]

    def is_own(self, token: str) -> bool:
        """Return whether a form's token is that of this session."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.csrf.encode())

    def cookie(self) -> str | None:
        """Return the ``Set-Cookie`` header's value; None if nothing has changed.

        Raises:
            ValueError: The values are more than a cookie holds.
        """
        packed = self._packed()
        if packed == self._before:
            return None
        if len(packed) > _MOST_BYTES:
            raise ValueError(
                f"the session has {len(packed):,} bytes, a cookie holds {_MOST_BYTES:,}; "
                "keep larger values in a table of the service"
            )
        return f"{COOKIE}={packed}; Path=/; HttpOnly; SameSite=Lax"

    def _packed(self) -> str:
        text = json.dumps(self.values, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        content = base64.urlsafe_b64encode(text.encode()).rstrip(b"=")
        return f"{content.decode()}.{self._sign(content)}"

    def _opened(self, cookie: str) -> dict[str, Any] | None:
        content, _, signature = cookie.partition(".")
        given = signature.encode("utf-8", "replace")
        if not hmac.compare_digest(given, self._sign(content.encode("utf-8", "replace")).encode()):
            return None
        try:
            padded = content + "=" * (-len(content) % 4)
            values = json.loads(base64.urlsafe_b64decode(padded))
        except (binascii.Error, ValueError):
            return None
        return values if isinstance(values, dict) else None

    def _sign(self, content: bytes) -> str:
        return hmac.new(self._key, content, hashlib.sha256).hexdigest()
