"""Requests, asynchronous."""

import asyncio
import urllib.error
import urllib.request
from typing import Any, Protocol

from tern.errors import Broken, Busy, Fatal, Missing, RequestError


class Response(Protocol):
    """A response whose body has not been read."""

    async def read(self, size: int) -> bytes:
        """Return at least one byte of the body and at most `size`; nothing at its end.

        Raises:
            Broken: The connection ended within the body.
        """

    async def close(self) -> None:
        """Give the connection back. It has to be called once, whatever happened."""


class Transport:
    """Makes requests, as many at once as it is asked for."""

    async def open(self, url: str) -> Response:
        """Begin a request; return its response once the server has accepted it.

        Raises:
            RequestError: It failed.
            Fatal: Nothing can go on.
        """
        try:
            response = await asyncio.to_thread(urllib.request.urlopen, url, timeout=30)
        except urllib.error.HTTPError as error:
            if error.code in (404, 410):
                raise Missing(f"{url}: not there") from None
            if error.code in (429, 503):
                after = error.headers.get("Retry-After", "")
                raise Busy(f"{url}: busy", float(after) if after.isdigit() else None) from None
            raise RequestError(f"{url}: {error.code}") from None
        except urllib.error.URLError as error:
            if "CERTIFICATE" in str(error.reason):
                raise Fatal(f"{url}: {error.reason}") from None
            raise RequestError(f"{url}: {error.reason}") from None
        return _Response(url, response)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class _Response:
    def __init__(self, url: str, response: Any) -> None:
        self._url, self._response = url, response
        self._left = int(response.headers.get("Content-Length") or 0)

    async def read(self, size: int) -> bytes:
        data: bytes = await asyncio.to_thread(self._response.read1, size)
        self._left -= len(data)
        if not data and self._left > 0:
            raise Broken(f"{self._url}: {self._left} bytes are missing")
        return data

    async def close(self) -> None:
        self._response.close()
