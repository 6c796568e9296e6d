"""Files below a folder as answers; nothing outside the folder can be reached."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final
from urllib.parse import quote

from agentgym.sites.body import BadRequestError
from agentgym.sites.response import HTML, Response

MOST_BYTES: Final = 64 * 2**20
"""Largest file that is answered."""

_TYPES: Final = {
    ".html": HTML,
    ".htm": HTML,
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".xml": "application/xml",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".ico": "image/x-icon",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
    ".pdf": "application/pdf",
    ".webmanifest": "application/manifest+json",
}
"""Types by ending: the same on every machine, unlike those of `mimetypes`."""


def static_file(folder: Path, path: str, fallback: str | None = None) -> Response:
    """Return a file of a folder; the ``index.html`` of a folder below it.

    Args:
        folder: The folder.
        path: Decoded path of the request, with its leading slash.
        fallback: File for paths without a file.

    Raises:
        BadRequestError: There is no such file (404).
    """
    names = [name for name in path.split("/") if name]
    if any(name.startswith(".") or len(name.encode()) > 255 for name in names) or len(path) > 2000:
        raise BadRequestError(404, "there is no page at this address")
    inside = folder.joinpath(*names)
    if not path.endswith("/") and (inside / "index.html").is_file():
        # Relative links of its page would be those of the folder above.
        return Response(status=308, headers={"location": quote(f"/{'/'.join(names)}/")})
    candidates = [inside / "index.html"] if path.endswith("/") else [inside]
    if not path.endswith("/") and not inside.suffix:
        candidates.append(inside.with_name(f"{inside.name}.html"))
    if fallback is not None:
        candidates.append(folder / fallback)
    for candidate in candidates:
        data = _read(folder, candidate)
        if data is not None:
            kind = _TYPES.get(candidate.suffix.lower(), "application/octet-stream")
            return Response(data, type=kind)
    raise BadRequestError(404, "there is no page at this address")


def _read(folder: Path, path: Path) -> bytes | None:
    """Return the content of a regular file whose real place is below the folder."""
    try:
        if not path.resolve(strict=True).is_relative_to(folder.resolve()):
            return None
        # Opening a pipe would otherwise wait for its writer.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            if status.st_size > MOST_BYTES:
                raise BadRequestError(404, f"the file is larger than {MOST_BYTES:,} bytes")
            return file.read()
    except (OSError, ValueError, RuntimeError):
        return None
