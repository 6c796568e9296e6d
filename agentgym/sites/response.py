"""Answers of a site."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

HTML: Final = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Response:
    """An answer.

    Attributes:
        body: Its content.
        status: HTTP status.
        type: Media type.
        headers: Further headers by name.
    """

    body: bytes = b""
    status: int = 200
    type: str = HTML
    headers: dict[str, str] = field(default_factory=dict)


def redirect(url: str) -> Response:
    """Return an answer that sends the browser to another page by GET."""
    return Response(b"", 303, headers={"location": quote(url, safe="/:?#[]@!$&'()*+,;=%-._~")})


def download(data: bytes, name: str, kind: str) -> Response:
    """Return an answer that the browser saves as a file.

    Args:
        data: Content of the file.
        name: Its name.
        kind: Its media type.
    """
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_. ") else "_" for c in name)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return Response(data, type=kind, headers={"content-disposition": disposition})
