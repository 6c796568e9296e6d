"""A client for tests, without a server."""

import io
import json
from typing import Any

from wicket.response import Response


class Client:
    """Calls a WSGI application."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Response:
        data = b"" if body is None else json.dumps(body).encode()
        path, _, query = path.partition("?")
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_LENGTH": str(len(data)),
            "wsgi.input": io.BytesIO(data),
        }
        for name, value in (headers or {}).items():
            environ["HTTP_" + name.upper().replace("-", "_")] = value
        found: dict[str, Any] = {}

        def start(status: str, given: list[tuple[str, str]]) -> None:
            found["status"], found["headers"] = int(status.split()[0]), dict(given)

        sent = b"".join(self.app(environ, start))
        return Response(found["status"], sent, found["headers"])

    def get(self, path: str, **more: Any) -> Response:
        return self.request("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Response:
        return self.request("POST", path, body, **more)
