"""Drops what a page has a browser say that would fill the DevTools driver; standard library only.

Messages of the DevTools protocol end with a NUL. The driver decodes each of them whole, for all
pages of a browser, and ends where one is longer than a text may be. So one page with megabytes in
its console, its attributes, its addresses or its dialogs would stop the others. A message that is
too long is dropped; in the place of an answer comes an error.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator


def _named(*names: bytes) -> tuple[bytes, ...]:
    return tuple(b'{"method":"%s' % name for name in names)


_REPORTS = _named(b'Runtime.consoleAPICalled"', b'Runtime.exceptionThrown"', b'Log.entryAdded"')
_REQUESTS = _named(b"Network.request", b"Network.response", b"Network.webSocketCreated")
_UNUSED = _named(
    b"Network.webSocketFrame",
    b'Network.dataReceived"',
    b'Network.eventSourceMessageReceived"',
)
_ANSWER = b'{"id":'
_HEAD = max(map(len, (*_REPORTS, *_REQUESTS, *_UNUSED)))
_TAIL = 200
_MOST_REPORT, _REPORTS_PER_S = 64 * 1024, 100
_MOST_REQUEST, _REQUESTS_PER_S = 256 * 1024, 4_000
_MOST_EVENT = 256 * 1024 + 1
_MOST_ANSWER = 64 * 2**20
_MOST_SESSIONS = 1_000
_CHUNK = 256 * 1024
_ATTACHED = _named(b'Target.attachedToTarget"')
_MOST_TARGET, _TARGETS_PER_S = 32 * 1024, 30
_PAGE = b'"type":"page"'
_NUMBER = re.compile(rb'\{"id":(\d+)')
_SESSION = re.compile(rb'"sessionId":"(\w+)"\}\0$')


class MessageFilter:
    """Passes on what a browser says, but for messages that are too long or too many."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._dropped: bytes | None = None
        self._most = 0
        self._counts: dict[tuple[bytes, int], tuple[float, int]] = {}

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what is passed on of a part of the stream, in order."""
        begin = 0
        while begin < len(data):
            end = data.find(b"\0", begin) + 1
            yield from self._part(data[begin : end or len(data)], ends=end > 0)
            begin = end or len(data)

    def _part(self, part: bytes, *, ends: bool) -> Iterator[bytes]:
        """Yield what is passed on once a part of one message has come."""
        self._held += part
        if self._dropped is None:
            if not self._most and (ends or len(self._held) >= _HEAD):
                self._most = _most(self._held)
            if self._most and len(self._held) > self._most:
                self._dropped = bytes(self._held[:_TAIL])
        if self._dropped is not None:
            del self._held[:-_TAIL]
        if not ends:
            return
        message, head, most = bytes(self._held), self._dropped, self._most
        self._held, self._dropped, self._most = bytearray(), None, 0
        if head is not None:
            if head.startswith(_ANSWER):
                yield _refusal(head, message)
        elif not self._too_many(message, most):
            yield message

    def _too_many(self, message: bytes, most: int) -> bool:
        """Whether the page of a message has had enough of its kind within this second."""
        if most == _MOST_REPORT:
            allowed = _REPORTS_PER_S
        elif most == _MOST_REQUEST:
            allowed = _REQUESTS_PER_S
        elif most == _MOST_TARGET and _PAGE not in message:
            # A worker that the driver does not know waits for it for ever.
            allowed = _TARGETS_PER_S
        else:
            return False
        page = message[message.rfind(b'"sessionId"') :][:80]
        now = time.monotonic()
        since, count = self._counts.get((page, most), (now, 0))
        if now - since > 1:
            since, count = now, 0
        if len(self._counts) > _MOST_SESSIONS:
            self._counts.clear()
        self._counts[page, most] = since, count + 1
        return count >= allowed


def _most(begun: bytes | bytearray) -> int:
    """Return the largest size of a message, by how it begins."""
    if begun.startswith(_ANSWER):
        return _MOST_ANSWER
    if begun.startswith(_REPORTS):
        return _MOST_REPORT
    if begun.startswith(_ATTACHED):
        return _MOST_TARGET
    if begun.startswith(_UNUSED):
        return 1
    return _MOST_REQUEST if begun.startswith(_REQUESTS) else _MOST_EVENT


def _refusal(head: bytes, tail: bytes) -> bytes:
    """Return an error as the answer to the same request."""
    number, session = _NUMBER.match(head), _SESSION.search(tail)
    told = b'{"id":%s,"error":{"code":-32000,"message":"the answer is too long"}' % (
        number[1] if number else b"0"
    )
    return told + (b',"sessionId":"%s"}\0' % session[1] if session else b"}\0")


def relay(source: int, target: int) -> None:
    """Pass on what comes from one descriptor to another, until either ends; both are closed."""
    passing = MessageFilter()
    try:
        while data := os.read(source, _CHUNK):
            for part in passing.feed(data):
                left = memoryview(part)
                while left:
                    left = left[os.write(target, left) :]
    except OSError:
        pass
    finally:
        os.close(source)
        os.close(target)
