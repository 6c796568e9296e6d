"""Requests, blocking. `tern.aio` replaces it."""

import time
import urllib.error
import urllib.request

from tern.errors import Broken, Busy, Fatal, Missing, RequestError


class Transport:
    """Makes one request at a time."""

    def get(self, url: str) -> bytes:
        """Return the whole body.

        Raises:
            RequestError: It failed.
            Fatal: Nothing can go on.
        """
        try:
            with urllib.request.urlopen(url, timeout=30) as response:
                body = response.read()
                if len(body) < int(response.headers.get("Content-Length") or 0):
                    raise Broken(f"{url}: {len(body)} bytes only")
                return body
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

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
