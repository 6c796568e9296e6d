"""Renders the chat templates of models in a process of its own, within limits.

The process is started when the first template is rendered, and ends with this one.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_PROGRAM: Final = Path(__file__).with_name("render_process.py")
_KEPT: Final = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
_CPU_S: Final = 10.0
_WALL_S: Final = 120.0
_MEMORY_BYTES: Final = 2 << 30
_MOST_BYTES: Final = 64 << 20
_PIECE: Final = 1 << 20


class RenderError(Exception):
    """A template refuses a dialogue, or takes more than it may; the message says which."""


class Renderer:
    """Renders templates, one at a time; any thread may ask.

    Args:
        cpu_s: Seconds of processor time for one dialogue.
    """

    def __init__(self, cpu_s: float = _CPU_S) -> None:
        self._cpu_s = cpu_s
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()

    def render(
        self,
        template: str,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        tokens: Mapping[str, Any],
        *,
        prompt: bool,
    ) -> str:
        """Return the text of a dialogue.

        Args:
            template: The template.
            messages: The dialogue.
            tools: Tools in the form of OpenAI; None for none.
            tokens: Special tokens by name.
            prompt: Whether the text ends where the assistant begins.

        Raises:
            RenderError: The template refuses it, does not end, or makes too much of it.
        """
        asked = {
            "template": template,
            "messages": messages,
            "tools": tools,
            "tokens": tokens,
            "prompt": prompt,
        }
        body = json.dumps(asked, default=str).encode()
        with self._turn:
            process = self._started()
            try:
                told = json.loads(_asked(process, struct.pack(">I", len(body)) + body))
            except (OSError, EOFError, ValueError) as error:
                self._end()
                raise RenderError(
                    f"{error}; it may take {self._cpu_s:g} s of processor time, "
                    f"{_MEMORY_BYTES >> 20} MiB, and make {_MOST_BYTES >> 20} MiB of text"
                ) from None
        if "refused" in told:
            raise RenderError(told["refused"])
        return str(told["text"])

    def close(self) -> None:
        """End the process."""
        with self._turn:
            self._end()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, str(_PROGRAM), str(self._cpu_s), str(_MEMORY_BYTES)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _asked(process: subprocess.Popen[bytes], request: bytes) -> bytes:
    """Send a request and return the answer."""
    assert process.stdin is not None and process.stdout is not None
    until_s = time.monotonic() + _WALL_S
    _write(process.stdin.fileno(), request, until_s)
    (size,) = struct.unpack(">I", _read(process.stdout.fileno(), 4, until_s))
    if size > _MOST_BYTES:
        raise ValueError(f"its text has {size} bytes")
    return _read(process.stdout.fileno(), size, until_s)


def _write(descriptor: int, data: bytes, until_s: float) -> None:
    os.set_blocking(descriptor, False)
    left = memoryview(data)
    while left:
        left_s = until_s - time.monotonic()
        if left_s <= 0 or not select.select([], [descriptor], [], left_s)[1]:
            raise TimeoutError("it does not begin")
        left = left[os.write(descriptor, left[:_PIECE]) :]


def _read(descriptor: int, size: int, until_s: float) -> bytes:
    data = bytearray()
    while len(data) < size:
        left_s = until_s - time.monotonic()
        if left_s <= 0 or not select.select([descriptor], [], [], left_s)[0]:
            raise TimeoutError("it does not end")
        piece = os.read(descriptor, min(_PIECE, size - len(data)))
        if not piece:
            raise EOFError("the process that rendered it has ended")
        data += piece
    return bytes(data)


RENDERER: Final = Renderer()
"""The renderer of this process."""

atexit.register(RENDERER.close)
