"""Limits a static page to the scripts that its own file holds, and to those of its site.

A page may write what a visitor has typed into its own HTML. A script within that text would reach
all that the page knows, also the state by which an episode is judged. The policy is that of Content
Security Policy Level 3: the digests of the scripts that stand in the file, and the page's own host.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from html.parser import HTMLParser
from typing import Final

_LINE_ENDS: Final = (("\r\n", "\n"), ("\r", "\n"))
_PAGES: Final = 256


@lru_cache(maxsize=_PAGES)
def script_policy(page: bytes, handlers: tuple[str, ...] = (), *, evaluating: bool = False) -> str:
    """Return the policy of a page, as the value of the header `Content-Security-Policy`.

    Args:
        page: Its HTML as UTF-8.
        handlers: Further handlers of events that it may run.
        evaluating: Whether its scripts may evaluate texts as programs. Libraries do so with the
            scripts in a text that is put into the page.
    """
    text = page.decode("utf-8", "replace")
    for found, instead in _LINE_ENDS:
        text = text.replace(found, instead)
    reader = _Scripts()
    reader.feed(text)
    reader.close()
    scripts = [*_digests(reader.scripts)]
    known = [*reader.handlers, *handlers]
    if known:
        scripts += ["'unsafe-hashes'", *_digests(known)]
    evaluated = "'unsafe-eval'" if evaluating else "'wasm-unsafe-eval'"
    allowed = " ".join(["'self'", evaluated, *scripts])
    # A worker does not reach the page.
    return f"script-src {allowed}; worker-src 'self' blob:; object-src 'none'"


class _Scripts(HTMLParser):
    """Collects the scripts of a page.

    Attributes:
        scripts: Contents of its elements `script`.
        handlers: Its handlers of events, and scripts in the addresses of links.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.handlers: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the handlers of an element, and whether it is a script."""
        for name, value in attrs:
            if value and name.startswith("on"):
                self.handlers.append(value)
            elif value and value.lstrip().lower().startswith("javascript:"):
                self.handlers.append(value.strip())
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a script."""
        if tag == "script":
            self._inside = False

    def handle_data(self, data: str) -> None:
        """Note a part of a script."""
        if self._inside:
            self.scripts[-1] += data


def _digests(scripts: list[str]) -> list[str]:
    """Return each script's digest once, as a policy names it."""
    found = dict.fromkeys(hashlib.sha256(script.encode()).digest() for script in scripts if script)
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in found]
