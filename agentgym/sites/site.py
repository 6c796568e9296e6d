"""A site: its views by method and path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from agentgym.errors import ConfigError
from agentgym.sites.body import BadRequestError
from agentgym.sites.response import Response

View: TypeAlias = Callable[..., Response]
"""``view(request, **path)``, with the parts of the path by name."""

V = TypeVar("V", bound=View)

_PART: Final = re.compile(r"{(\w+)(?::(int|path))?}")
_PATTERNS: Final = {None: "[^/]{1,200}", "int": "[0-9]{1,12}", "path": ".{1,500}"}


@dataclass(frozen=True, slots=True)
class _Route:
    method: str
    pattern: re.Pattern[str]
    numbers: frozenset[str]
    view: View


class Site:
    """A site's views; `app.py` of a site folder makes one and calls it ``site``.

    A view is a plain function. It runs on a thread, with a limit for its processor time, so it may
    call services and render pages without care for the event loop.

    Example:
        >>> site = Site()
        >>> @site.get("/rooms/{room:int}")
        ... def show(request, room):
        ...     return Response(f"Room {room}".encode())
        >>> view, parts = site.find("GET", "/rooms/7")
        >>> parts
        {'room': 7}
    """

    def __init__(self) -> None:
        self._routes: list[_Route] = []

    def get(self, path: str) -> Callable[[V], V]:
        """Register a view that shows something; it must change nothing.

        Args:
            path: Its path, with parts such as ``{room:int}``, ``{name}`` and ``{rest:path}``.
        """
        return self._registering("GET", path)

    def post(self, path: str) -> Callable[[V], V]:
        """Register a view that changes something; its form must carry the session's token.

        Args:
            path: Its path, as for `get`.
        """
        return self._registering("POST", path)

    def find(self, method: str, path: str) -> tuple[View, Mapping[str, Any]]:
        """Return the view for a request, and the parts of the path by name.

        Raises:
            BadRequestError: No view has this path (404), or none with this method (405).
        """
        known = False
        for route in self._routes:
            match = route.pattern.fullmatch(path)
            if match is None:
                continue
            known = True
            if route.method == method:
                parts: dict[str, Any] = match.groupdict()
                return route.view, {
                    name: int(value) if name in route.numbers else value
                    for name, value in parts.items()
                }
        if known:
            raise BadRequestError(405, f"{method} is not possible here")
        raise BadRequestError(404, "there is no page at this address")

    def _registering(self, method: str, path: str) -> Callable[[V], V]:
        if not path.startswith("/"):
            raise ConfigError(f"path of a view: expected a leading slash, got {path!r}")
        numbers = frozenset(match[1] for match in _PART.finditer(path) if match[2] == "int")
        pattern, end = "", 0
        for match in _PART.finditer(path):
            pattern += re.escape(path[end : match.start()])
            pattern += f"(?P<{match[1]}>{_PATTERNS[match[2]]})"
            end = match.end()
        compiled = re.compile(pattern + re.escape(path[end:]), re.ASCII)

        def register(view: V) -> V:
            self._routes.append(_Route(method, compiled, numbers, view))
            return view

        return register
