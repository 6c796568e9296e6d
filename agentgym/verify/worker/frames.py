"""The messages between the host and a worker, over one stream socket.

The host's messages are pickled. A worker's messages are JSON with at most one block of bytes: a
worker has read an agent's files, so its messages are never unpickled.
"""

from __future__ import annotations

import json
import pickle
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

_SIZE = struct.Struct(">Q")
_SIZES = struct.Struct(">QQ")
_TEXT_BYTES = 64 * 2**20
_BLOCK_BYTES = 256 * 2**20
_PIECE_BYTES = 2**20


class WorkerGoneError(Exception):
    """Raised if the other end of the socket is closed, or its message is malformed."""


def tell(to: socket.socket, message: object) -> None:
    """Send a message of the host to a worker.

    Raises:
        WorkerGoneError: The worker has ended, or accepts no data for the socket's time-out.
    """
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    _send(to, _SIZE.pack(len(data)), data)


def hear(source: socket.socket) -> Any:
    """Return the host's next message; called in a worker."""
    (size,) = _SIZE.unpack(_receive(source, _SIZE.size, None))
    return pickle.loads(_receive(source, size, None))


def ask(to: socket.socket, message: Mapping[str, object], block: bytes = b"") -> None:
    """Send a message of a worker to the host."""
    text = json.dumps(message).encode()
    _send(to, _SIZES.pack(len(text), len(block)), text, block)


def answer(source: socket.socket, until_s: float) -> tuple[dict[str, Any], bytes]:
    """Return a worker's next message and its block of bytes.

    Args:
        source: The worker's socket.
        until_s: When to stop waiting, in seconds on the monotonic clock.

    Raises:
        TimeoutError: No message came in time.
        WorkerGoneError: The worker has ended, or its message is too large or malformed.
    """
    text_size, block_size = _SIZES.unpack(_receive(source, _SIZES.size, until_s))
    if text_size > _TEXT_BYTES or block_size > _BLOCK_BYTES:
        raise WorkerGoneError(f"it said {text_size} + {block_size} bytes at once")
    text = _receive(source, text_size, until_s)
    block = bytes(_receive(source, block_size, until_s))
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WorkerGoneError(f"it sent something that is not a message: {error}") from None
    if not isinstance(message, dict):
        raise WorkerGoneError("it sent something that is not a message")
    return message, block


def _send(to: socket.socket, *pieces: bytes) -> None:
    try:
        if sum(map(len, pieces)) <= _PIECE_BYTES:
            # One call, and the other end wakes up once.
            to.sendall(b"".join(pieces))
            return
        for piece in pieces:
            to.sendall(piece)
    except OSError as error:  # a time-out is an OSError too
        raise WorkerGoneError(str(error)) from None


def _receive(source: socket.socket, size: int, until_s: float | None) -> bytearray:
    data = bytearray()
    while len(data) < size:
        if until_s is not None:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
        try:
            if until_s is not None:
                source.settimeout(left_s)
            piece = source.recv(min(size - len(data), _PIECE_BYTES))
        except TimeoutError:
            raise
        except OSError as error:
            raise WorkerGoneError(str(error)) from None
        if not piece:
            raise WorkerGoneError("it has ended")
        data += piece
    return data
