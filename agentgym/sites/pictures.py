"""Pictures that visitors upload and pages show: their kinds, told by their content.

Formats: PNG (W3C), JPEG (ITU T.81), GIF89a, WebP (RFC 9649), SVG 1.1. An SVG file may hold scripts,
so every picture is served with a policy that runs none.
"""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import Final

from agentgym.errors import ServiceError
from agentgym.sites.body import Upload
from agentgym.sites.response import Response, download

PICTURE_BYTES: Final = 512 * 1024
"""Largest size of an uploaded picture."""
_STARTS: Final = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}\?>\s*)?<svg[\s>]"), "image/svg+xml"),
)
_INLINE_BYTES: Final = 8 * 1024
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def picture_type(file: Upload) -> str:
    """Return the media type of an uploaded picture.

    Raises:
        ServiceError: It is no picture, or too large.
    """
    if len(file.data) > PICTURE_BYTES:
        told = f"at most {PICTURE_BYTES // 1024} kB; {file.name} has {len(file.data) // 1024:,} kB"
        raise ServiceError("invalid", f"expected a picture of {told}", "picture")
    found = next((kind for start, kind in _STARTS if start.match(file.data)), None)
    if found is None:
        expected = "expected a PNG, JPEG, GIF, WebP or SVG file"
        raise ServiceError("invalid", f"{file.name} is no picture; {expected}", "picture")
    return found


def picture_source(data: bytes, mime: str, url: str) -> str:
    """Return what an ``img`` element names: a small picture itself, or the address of a large one.

    A page of small pictures then needs no further requests.
    """
    if len(data) > _INLINE_BYTES:
        return url
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def picture_file(data: bytes, mime: str, name: str = "") -> Response:
    """Return a picture as an answer.

    Args:
        data: Content of the file.
        mime: Its media type.
        name: Name under which a browser saves it; it shows the picture without one.
    """
    answer = Response(data, type=mime) if not name else download(data, name, mime)
    return replace(answer, headers={**answer.headers, "content-security-policy": _POLICY})
