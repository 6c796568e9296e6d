"""Reads error answers of an HTTP server within a bound, and stays at its host.

The openai SDK does neither. The bounds are hooks of its HTTP client. An exception of a hook reaches
the caller unchanged with openai 3, and as the cause of a connection error with openai 2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

ERROR_BYTES = 2**20
"""Largest part of an error answer that is read, in bytes."""

_CHARS = 500
_REDIRECT = 307


class ErrorAnswer(Exception):
    """A server answered with an error status.

    Attributes:
        status: HTTP status of the answer.
        body: The answer's ``error`` object or its whole body, as JSON if it parses, else as text.
        wait_s: Seconds that the server asks to wait; None if it does not say.
    """

    def __init__(self, status: int, body: object, wait_s: float | None) -> None:
        self.status, self.body, self.wait_s = status, body, wait_s
        super().__init__(f"{status}: {self.said}")

    @property
    def said(self) -> str:
        """Message of the server, without the wrapping that differs between servers."""
        body = self.body
        said = body.get("message") or body.get("detail") if isinstance(body, Mapping) else body
        text = " ".join(str(said or f"Error code: {self.status}").split())
        return text if len(text) <= _CHARS else text[:_CHARS] + "…"


async def refuse_error_answers(response: Any) -> None:
    """Raise for an answer that is no success and no redirect; a response hook of an HTTP client.

    An answer that was compressed more than once is refused as well: a kilobyte of it can stand for
    gigabytes, and httpx unpacks what it has received before it passes on any of it.

    Raises:
        ErrorAnswer: The status is another one, or the answer was compressed more than once.
    """
    if "," in response.headers.get("content-encoding", ""):
        raise ErrorAnswer(response.status_code, "the answer was compressed more than once", None)
    if response.status_code < 300 or response.has_redirect_location:
        return
    read = bytearray()
    async for chunk in response.aiter_bytes():
        read += chunk
        if len(read) > ERROR_BYTES:
            break
    await response.aclose()
    body = _body(bytes(read[:ERROR_BYTES]))
    raise ErrorAnswer(response.status_code, body, _retry_after_s(response.headers))


def stay_at(url: str) -> Callable[[Any], Awaitable[None]]:
    """Return a request hook that raises for a redirect away from the host of an address.

    The server would otherwise choose what this machine asks, its own network included.
    """

    async def refuse(request: Any) -> None:
        asked = request.url
        if asked.raw_host != type(asked)(url).raw_host:
            raise ErrorAnswer(_REDIRECT, f"a redirect to another host, {asked.host[:80]!r}", None)

    return refuse


def _body(read: bytes) -> object:
    try:
        body = json.loads(read)
    except (ValueError, RecursionError):
        return read.decode(errors="replace")
    return body.get("error", body) if isinstance(body, dict) else body


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read the Retry-After header: seconds, or an HTTP date (RFC 9110, 10.2.3)."""
    header = headers.get("retry-after", "")
    if re.fullmatch(r"\d{1,9}(\.\d+)?", header.strip()):
        return float(header)
    try:
        when = parsedate_to_datetime(header)
        return max((when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0)
    except (ValueError, OverflowError):
        return None
