"""HTTP clients of endpoints: one for each event loop, address and key, shared by all who ask it.

A client holds connections that others can reuse. All clients share the certificates to trust.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from agentgym.chat.answers import refuse_error_answers, stay_at

if TYPE_CHECKING:
    import ssl

    import openai


class _NoCookies(CookieJar):
    """Takes and sends no cookies.

    No API of models needs them. Each request would be compared with all that a server has set.
    """

    def extract_cookies(self, response: object, request: object) -> None:
        """Take no cookie of an answer."""

    def add_cookie_header(self, request: object) -> None:
        """Send no cookie."""


@dataclass(slots=True)
class _Lent:
    client: openai.DefaultAsyncHttpxClient
    users: int = 0


@dataclass(slots=True)
class _Clients:
    """The clients of one event loop, by address and key."""

    lent: dict[tuple[str, str], _Lent] = field(default_factory=dict)


_by_loop: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients]] = WeakKeyDictionary()


def lend(url: str, key: str) -> openai.DefaultAsyncHttpxClient:
    """Return the client of the running loop for an address; `give_back` ends its use.

    Args:
        url: The address.
        key: The key.
    """
    import openai

    lent = _by_loop.setdefault(asyncio.get_running_loop(), _Clients()).lent
    if (url, key) not in lent:
        hooks: dict[str, list[Callable[..., Any]]] = {
            "request": [stay_at(url)],
            "response": [refuse_error_answers],
        }
        client = openai.DefaultAsyncHttpxClient(
            event_hooks=hooks, verify=_trusted(), cookies=_NoCookies()
        )
        lent[url, key] = _Lent(client)
    lent[url, key].users += 1
    return lent[url, key].client


async def give_back(url: str, key: str) -> None:
    """End one use of a client; the end of the last use closes its connections."""
    lent = _by_loop.setdefault(asyncio.get_running_loop(), _Clients()).lent
    one = lent.get((url, key))
    if one is None:
        return
    one.users -= 1
    if not one.users:
        del lent[url, key]
        await one.client.aclose()


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Return the certificates that the HTTP library trusts; reading them takes 25 ms."""
    import openai

    # openai 2 is built on httpx and openai 3 on httpx2.
    base = openai.DefaultAsyncHttpxClient.__mro__[1]
    library = importlib.import_module(base.__module__.partition(".")[0])
    trusted: ssl.SSLContext = library.create_ssl_context()
    return trusted
