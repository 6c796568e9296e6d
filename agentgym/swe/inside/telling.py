"""Tells the runner at once what is seen of the tests, and hears what the interpreter does.

What is told lies in a pipe, whose other end is out of reach of the tested code: a line that was
written cannot be taken back, and one that is added spoils the digest. Code that changes these
functions before a line is written is not held (docs/swe.md).

A line is a letter and a text: ``P`` a test that passed and ``F`` one that did not, by the file that
defines it, a tab and its node id; ``M`` why the tested code is said to meddle with the tests.
"""

import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

SEAL = "agentgym.seal"
_LINE_BYTES = 1 << 20
Tell: TypeAlias = Callable[[bytes, str], None]
Handler: TypeAlias = Callable[[str, tuple[Any, ...]], None]
Listen: TypeAlias = Callable[[Iterable[str], Handler], None]


def listener() -> Listen:
    """Return a function that registers handlers of audit events; one audit hook serves all."""
    handlers: dict[str, list[Handler]] = {}
    handlers_of = handlers.get

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        for handler in handlers_of(event, ()):
            handler(event, arguments)

    def listen(events: Iterable[str], handler: Handler) -> None:
        for event in events:
            handlers.setdefault(event, []).append(handler)

    sys.addaudithook(hear)
    return listen


def teller(secret: bytes, end: int, most_bytes: int, listen: Listen) -> Tell:
    """Return a function that writes a line into the pipe.

    When the caller says ``sys.audit(SEAL, path)``, a file is sent between two secrets, below the
    digest of all lines. The secret is in no frame below which tests run.
    """
    asking = sys._getframe(1)
    opened, write, frame_at = io.FileIO, os.write, sys._getframe
    digest = hashlib.sha256()

    def tell(letter: bytes, what: str) -> None:
        left = letter + what.encode("utf-8", "replace").replace(b"\n", b" ")[:_LINE_BYTES] + b"\n"
        digest.update(left)
        while left:
            left = left[write(end, left) :]

    def send(event: str, arguments: tuple[Any, ...]) -> None:
        # Its caller is `hear`.
        if frame_at(2) is asking:
            text = opened(arguments[0]).read(most_bytes) or b""
            left = secret + digest.digest() + text + secret
            while left:
                left = left[write(end, left) :]

    listen([SEAL], send)
    return tell
