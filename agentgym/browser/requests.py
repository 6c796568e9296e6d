"""The requests of a browser context as the host saw them: the audit of an episode's network."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from agentgym.records import WebRequest

STEP_REQUESTS: Final = 500
"""Requests that one action may cause; what a page asks for beyond that is refused."""
KEPT: Final = 20_000
"""Requests of one episode; further ones are refused, so that none is answered without a note."""
_URL_CHARS: Final = 2_000
_WORD_CHARS: Final = 200
_SAFE: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_ASKING: Final = frozenset(("method", "action", "op", "do", "intent"))
_DESTROYS: Final = frozenset(
    (
        *("delete", "remove", "destroy", "purge", "erase", "wipe"),
        *("trash", "discard", "drop", "revoke", "cancel"),
    )
)


@dataclass(slots=True)
class Entry:
    """One request; the fields are filled while it is answered.

    Attributes:
        method: Method of HTTP.
        url: Its target.
        step: Number of the action that caused it, 0 before the first.
        began: `time.monotonic` of its start.
        status: Status of the answer, 0 before it.
        request_bytes: Bytes of its body.
        response_bytes: Bytes of the answer's body.
        mime: Media type of the answer.
        location: Where the answer redirects.
        refused: Why the proxy has refused it; empty if a site has answered.
        failed: How the site has failed; empty if it has not.
        asks_to_remove: Whether a field of its form names a removal.
        attached: Whether the answer is a file to be downloaded.
        duration_s: Seconds until the end of the answer.
    """

    method: str
    url: str
    step: int
    began: float = field(default_factory=time.monotonic)
    status: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    mime: str = ""
    location: str = ""
    refused: str = ""
    failed: str = ""
    asks_to_remove: bool = False
    attached: bool = False
    duration_s: float = 0.0

    def begin_answer(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Note the head of the answer."""
        named = {name: value.decode("latin-1") for name, value in headers}
        self.status = status
        self.mime = named.get(b"content-type", "")[:_WORD_CHARS]
        self.location = named.get(b"location", "")[:_URL_CHARS]
        self.attached = named.get(b"content-disposition", "").lower().startswith("attachment")

    @property
    def mutating(self) -> bool:
        """Whether the request may change something: its method is not safe (RFC 9110, 9.2.1)."""
        return self.method not in _SAFE

    @property
    def destructive(self) -> bool:
        """Whether it asks to remove something, by its method, its path or a field of its form."""
        if self.method == "DELETE":
            return True
        if not self.mutating:
            return False
        words = urlsplit(self.url).path.lower().replace("-", "/").replace("_", "/").split("/")
        return self.asks_to_remove or not _DESTROYS.isdisjoint(words)

    def read_form(self, body: bytes) -> None:
        """Note what the beginning of its body asks for; the body is not kept."""
        try:
            fields = parse_qsl(body.decode("utf-8", "replace"), max_num_fields=200)
        except ValueError:
            return
        self.asks_to_remove = any(
            name.lower().strip("_") in _ASKING and value.lower() in _DESTROYS
            for name, value in fields
        )

    def record(self) -> WebRequest:
        """Return the part of it that the record and the evidence keep, without times."""
        return WebRequest(
            step=self.step,
            method=self.method,
            url=self.url,
            status=self.status,
            request_bytes=self.request_bytes,
            response_bytes=self.response_bytes,
            mime=self.mime,
            location=self.location,
            mutating=self.mutating,
            destructive=self.destructive,
            refused=self.refused,
            failed=self.failed,
        )


class RequestLog:
    """The requests of one context, in their order.

    Attributes:
        entries: The requests; those beyond a bound are refused and counted only.
        omitted: How many are counted only.
        open_in_step: How many of the present action are being answered.
        step: Number of the action that is being executed.
        ended: `time.monotonic` of the last end of a request.
        attachments: How many answers were files to be downloaded.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.omitted = self.open_in_step = self.step = self.count = self.attachments = 0
        self.ended = 0.0
        self._in_step = 0

    def begin_step(self) -> None:
        """Note that the next action begins."""
        self.step += 1
        self._in_step = self.open_in_step = 0

    def excess(self) -> str:
        """Return why a request is one too many; empty if it is not."""
        if self.omitted:
            return f"the pages of this episode have made more than {KEPT} requests"
        if self._in_step <= STEP_REQUESTS:
            return ""
        return f"the page has made more than {STEP_REQUESTS} requests since the last action"

    @contextmanager
    def begin(self, method: str, url: str) -> Iterator[Entry]:
        """Note a request for the time of its answer."""
        entry = Entry(method[:_WORD_CHARS], url[:_URL_CHARS], self.step)
        if len(self.entries) < KEPT:
            self.entries.append(entry)
        else:
            self.omitted += 1
        self._in_step += 1
        self.count += 1
        self.open_in_step += 1
        try:
            yield entry
        finally:
            self.open_in_step -= entry.step == self.step
            self.attachments += entry.attached
            self.ended = time.monotonic()
            entry.duration_s = self.ended - entry.began
