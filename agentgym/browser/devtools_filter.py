"""Drops reports of a page's console that would fill the DevTools driver; the standard library only.

Messages of the DevTools protocol end with a NUL. The driver decodes each of them whole, for all
pages of a browser, so one page that writes megabytes to its console would stop the others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

_REPORTS = tuple(
    b'{"method":"%s"' % name
    for name in (b"Runtime.consoleAPICalled", b"Runtime.exceptionThrown", b"Log.entryAdded")
)
_HEAD = max(map(len, _REPORTS))
_MOST_BYTES = 64 * 1024
_PER_SECOND = 100
_MOST_SESSIONS = 1_000
_CHUNK = 256 * 1024


class ReportFilter:
    """Passes on what a browser says, but for reports that are too large or too many."""

    def __init__(self) -> None:
        self._held: bytearray | None = bytearray()
        self._drops = False
        self._counts: dict[bytes, tuple[float, int]] = {}

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what is passed on of a part of the stream, in order."""
        begin = 0
        while begin < len(data):
            end = data.find(b"\0", begin) + 1
            yield from self._part(data[begin : end or len(data)], ends=end > 0)
            begin = end or len(data)

    def _part(self, part: bytes, *, ends: bool) -> Iterator[bytes]:
        """Yield what is passed on of a part of one message."""
        if self._held is None:
            if not self._drops:
                yield part
        else:
            self._held += part
            if ends or len(self._held) >= _HEAD:
                yield from self._decided(bytes(self._held), ends=ends)
        if ends:
            self._held, self._drops = bytearray(), False

    def _decided(self, begun: bytes, *, ends: bool) -> Iterator[bytes]:
        """Hold back the beginning of a message, pass it on, or drop the message."""
        is_report = begun.startswith(_REPORTS)
        if is_report and not ends and len(begun) <= _MOST_BYTES:
            return
        self._held = None
        self._drops = is_report and (len(begun) > _MOST_BYTES or self._too_many(begun))
        if not self._drops:
            yield begun

    def _too_many(self, report: bytes) -> bool:
        """Whether the page of a report has reported enough within this second."""
        page = report[report.rfind(b'"sessionId"') :][:80]
        now = time.monotonic()
        since, count = self._counts.get(page, (now, 0))
        if now - since > 1:
            since, count = now, 0
        if len(self._counts) > _MOST_SESSIONS:
            self._counts.clear()
        self._counts[page] = since, count + 1
        return count >= _PER_SECOND


def relay(source: int, target: int) -> None:
    """Pass on what comes from one descriptor to another, until either ends; both are closed."""
    passing = ReportFilter()
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
