"""Requests."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from wicket.errors import HttpError


@dataclass
class Request:
    """A request. Names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, list[str]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    state: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_environ(cls, environ: dict[str, Any]) -> "Request":
        headers = {
            name[5:].replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        if environ.get("CONTENT_TYPE"):
            headers["content-type"] = environ["CONTENT_TYPE"]
        length = int(environ.get("CONTENT_LENGTH") or 0)
        return cls(
            environ["REQUEST_METHOD"],
            environ.get("PATH_INFO") or "/",
            parse_qs(environ.get("QUERY_STRING", "")),
            headers,
            environ["wsgi.input"].read(length) if length else b"",
        )

    def json(self) -> Any:
        """Return the body as JSON; anything else is a 400."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise HttpError(400, "the body is not JSON") from None
