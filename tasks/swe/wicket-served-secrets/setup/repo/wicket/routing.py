"""Routers: which handler answers a request."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from wicket.errors import HttpError
from wicket.pattern import Pattern
from wicket.request import Request

Handler = Callable[..., Any]
Middleware = Callable[[Request, Callable[[Request], Any]], Any]


@dataclass(frozen=True)
class Route:
    method: str
    pattern: Pattern
    handler: Handler
    middleware: tuple[Middleware, ...] = ()


class Router:
    """Routes and mounted routers."""

    def __init__(self) -> None:
        self._routes: list[Route] = []
        self._mounted: list[tuple[str, Router]] = []
        self._middleware: list[Middleware] = []

    def route(self, method: str, path: str) -> Callable[[Handler], Handler]:
        """Register the decorated function for a method and a path."""

        def register(handler: Handler) -> Handler:
            self._routes.append(Route(method, Pattern(path), handler))
            return handler

        return register

    def get(self, path: str) -> Callable[[Handler], Handler]:
        return self.route("GET", path)

    def post(self, path: str) -> Callable[[Handler], Handler]:
        return self.route("POST", path)

    def put(self, path: str) -> Callable[[Handler], Handler]:
        return self.route("PUT", path)

    def delete(self, path: str) -> Callable[[Handler], Handler]:
        return self.route("DELETE", path)

    def mount(self, prefix: str, router: "Router") -> None:
        """Let a router answer below a prefix."""
        self._mounted.append((prefix.rstrip("/"), router))

    def use(self, middleware: Middleware) -> Middleware:
        """Wrap all handlers of this router, and of the routers mounted in it."""
        self._middleware.append(middleware)
        return middleware

    def routes(self, prefix: str = "", outer: tuple[Middleware, ...] = ()) -> Iterator[Route]:
        """Yield all routes with whole paths and all middleware, outermost first."""
        own = (*outer, *self._middleware)
        for route in self._routes:
            path = prefix + route.pattern.text
            yield Route(route.method, Pattern(path), route.handler, own)
        for below, router in self._mounted:
            yield from router.routes(prefix + below, own)

    def find(self, method: str, path: str) -> tuple[Route, dict[str, Any]]:
        """Return the route for a request and the values of its slots.

        Raises:
            HttpError: 404: no such path; 405: the path has other methods.
        """
        known = False
        for route in sorted(self.routes(), key=lambda route: route.pattern.rank()):
            values = route.pattern.match(path)
            if values is None:
                continue
            if route.method == method:
                return route, values
            known = True
        if known:
            raise HttpError(405, f"{method} is not allowed here")
        raise HttpError(404, f"{path}: not found")
