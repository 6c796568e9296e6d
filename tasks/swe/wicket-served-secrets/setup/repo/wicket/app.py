"""Apps: routers behind WSGI."""

import sys
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from typing import Any

from wicket.errors import HttpError
from wicket.request import Request
from wicket.response import Response
from wicket.routing import Router


class App(Router):
    """The outermost router, callable as a WSGI application."""

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        response = self.respond(Request.from_environ(environ))
        phrase = HTTPStatus(response.status).phrase
        headers = {**response.headers, "Content-Length": str(len(response.body))}
        start_response(f"{response.status} {phrase}", list(headers.items()))
        return [response.body]

    def respond(self, request: Request) -> Response:
        """Return the response to a request; errors become responses."""
        try:
            route, values = self.find(request.method, request.path)
            call: Callable[[Request], Any] = partial(_handle, route.handler, values)
            for middleware in reversed(route.middleware):
                call = partial(_through, middleware, call)
            return Response.of(call(request))
        except HttpError as error:
            response = Response.json({"error": error.message}, error.status)
            response.headers.update(error.headers)
            return response
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return Response.json({"error": "internal error"}, 500)


def _handle(handler: Callable[..., Any], values: dict[str, Any], request: Request) -> Response:
    return Response.of(handler(request, **values))


def _through(middleware: Any, call: Callable[[Request], Any], request: Request) -> Any:
    return middleware(request, call)
