"""One MCP client over standard input and output, whatever it writes and whether it reads or not.

The streams are handed to the SDK's transport (`mcp.server.stdio`), whose own ones wait for the
client in threads that nothing can end. Here daemon threads wait, and every wait has a bound.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Self

MAX_LINE: Final = 4 * 2**20
"""Largest message in bytes, as over HTTP; a longer one is refused as broken JSON."""

READ_AHEAD: Final = 8 * 2**20
"""Bytes of the input that wait for the server; the client waits when there are more."""

STALL_S: Final = 60.0
"""Seconds after which a client that takes no byte of the output counts as gone."""

PARTING_S: Final = 1.0
"""The same once the input has ended: clients terminate a server about two seconds later."""

_CHUNK: Final = 2**16
_OVERHEAD: Final = 100  # memory of a line besides its bytes
_TOO_LONG: Final = b"a message is longer than the server reads"  # is no JSON, so it is refused


class ClientGoneError(Exception):
    """The client takes no output any more."""


class Input:
    """The lines of a descriptor, as an asynchronous iterator.

    Args:
        descriptor: Where to read; stays open.
        ended: Is set at the end of the input, often before its last line is iterated over.
    """

    def __init__(self, descriptor: int, ended: asyncio.Event) -> None:
        self._descriptor, self._ended = descriptor, ended
        self._loop = asyncio.get_running_loop()
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._change = threading.Condition()
        self._arrived = asyncio.Event()
        _begin(self._read, "standard input")

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while not self._lines:
            if self._ended.is_set():
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        with self._change:
            line = self._lines.popleft()
            self._waiting_bytes -= len(line) + _OVERHEAD
            self._change.notify()
        return line.decode(errors="replace")

    def _read(self) -> None:
        line, too_long = bytearray(), False
        with suppress(OSError):
            while chunk := os.read(self._descriptor, _CHUNK):
                *ends, rest = chunk.split(b"\n")
                for end in ends:
                    line += end
                    too_long = too_long or len(line) > MAX_LINE
                    self._add(_TOO_LONG if too_long else bytes(line))
                    line, too_long = bytearray(), False
                line += rest
                if len(line) > MAX_LINE:
                    line, too_long = bytearray(), True
        if line or too_long:
            self._add(_TOO_LONG if too_long else bytes(line))
        _tell(self._loop, self._end)

    def _add(self, line: bytes) -> None:
        with self._change:
            self._change.wait_for(lambda: self._waiting_bytes < READ_AHEAD)
            self._lines.append(line)
            self._waiting_bytes += len(line) + _OVERHEAD
        _tell(self._loop, self._arrived.set)

    def _end(self) -> None:
        self._ended.set()
        self._arrived.set()


class Output:
    """Writes text to a descriptor; a write that its reader does not take can be cancelled.

    Args:
        descriptor: Where to write; stays open.
        parting: Set when the client has begun to leave.
    """

    def __init__(self, descriptor: int, parting: asyncio.Event) -> None:
        self._descriptor, self._parting = descriptor, parting
        self._loop = asyncio.get_running_loop()
        self._taken = asyncio.Event()
        self._chunk: bytes | None = None
        self._change = threading.Condition()
        self._broken = False
        _begin(self._write, "standard output")

    async def write(self, text: str) -> None:
        """Write a text and wait until the reader, or the pipe, has taken it.

        Raises:
            ClientGoneError: The reader is gone, or takes nothing.
        """
        data = text.encode(errors="replace")
        for start in range(0, len(data), _CHUNK):
            if self._broken:
                raise ClientGoneError("the client has closed the output")
            with self._change:
                self._taken.clear()
                self._chunk = data[start : start + _CHUNK]
                self._change.notify()
            await self._until_taken()

    async def flush(self) -> None:
        """Do nothing: `write` has waited."""

    async def _until_taken(self) -> None:
        taken = asyncio.ensure_future(self._taken.wait())
        parting = asyncio.ensure_future(self._parting.wait())
        try:
            either = {taken, parting}
            await asyncio.wait(either, timeout=STALL_S, return_when=asyncio.FIRST_COMPLETED)
            if parting.done():
                await asyncio.wait({taken}, timeout=PARTING_S)
            if not taken.done() or self._broken:
                raise ClientGoneError("the client reads no output")
        finally:
            taken.cancel()
            parting.cancel()

    def _write(self) -> None:
        while not self._broken:
            with self._change:
                self._change.wait_for(lambda: self._chunk is not None)
                chunk, self._chunk = self._chunk or b"", None
            try:
                while chunk:
                    chunk = chunk[os.write(self._descriptor, chunk) :]
            except OSError:
                self._broken = True
            _tell(self._loop, self._taken.set)


@contextmanager
def standard_streams() -> Iterator[tuple[int, int]]:
    """Return descriptors of standard input and output that nothing else uses meanwhile.

    Children and stray prints get the null device and standard error. Afterwards both are restored.
    The descriptors stay open, because a thread may still wait at them.
    """
    kept = [os.dup(number) for number in (0, 1)]
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        yield kept[0], kept[1]
    finally:
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)


def _begin(work: Callable[[], None], name: str) -> None:
    threading.Thread(target=work, name=name, daemon=True).start()


def _tell(loop: asyncio.AbstractEventLoop, news: Callable[[], None]) -> None:
    # The loop may have ended before the thread noticed anything.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(news)
