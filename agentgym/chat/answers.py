"""Error answers of an HTTP server, read within bounds: the openai SDK reads them to their end.

The bound is a response hook of the SDK's HTTP client. What the hook raises reaches the caller
as it is from openai 3, and from openai 2 as the cause of a connection error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

ERROR_BYTES = 2**20
"""How much of an error answer is read."""

_CHARS = 500


class ErrorAnswer(Exception):
    """A server answered with an error status.

    Attributes:
        status: Of the answer.
        body: Its ``error`` object or its whole body, as JSON, else as text.
        wait_s: How long the server asks to wait, None if it does not say.
    """

    def __init__(self, status: int, body: object, wait_s: float | None) -> None:
        self.status, self.body, self.wait_s = status, body, wait_s
        super().__init__(f"{status}: {self.said}")

    @property
    def said(self) -> str:
        """What the server said, without the wrapping that differs between servers."""
        body = self.body
        said = body.get("message") or body.get("detail") if isinstance(body, Mapping) else body
        text = " ".join(str(said or f"Error code: {self.status}").split())
        return text if len(text) <= _CHARS else text[:_CHARS] + "…"


async def refuse_error_answers(response: Any) -> None:
    """Raise for an answer with an error status; a hook for responses of an HTTP client.

    Raises:
        ErrorAnswer: The status is an error's.
    """
    if response.status_code < 400:
        return
    read = bytearray()
    async for chunk in response.aiter_bytes():
        read += chunk
        if len(read) > ERROR_BYTES:
            break
    await response.aclose()
    body = _body(bytes(read[:ERROR_BYTES]))
    raise ErrorAnswer(response.status_code, body, _retry_after_s(response.headers))


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
