"""The figures of a training run as TensorBoard reads them: an event file of TFRecords.

tensorboardX encodes the events. Its own writer is a thread that ends with a traceback on a full
disk, and opens names that can be guessed, so that a link in a stranger's folder would be followed.
"""

from __future__ import annotations

import secrets
import socket
import struct
import time
from typing import Any, BinaryIO

from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.record_writer import masked_crc32c
from tensorboardX.summary import scalar

from agentgym.record.folder import RunFolder


class EventFile:
    """A new event file; each figure is on the disk once `add` returns.

    Args:
        files: The folder of the run.
        name: Name of a folder in it.
        first: Steps from this one on that older files hold are hidden, not shown twice.

    Raises:
        OSError: It cannot be written.
        RecordError: The folder is a link.
    """

    def __init__(self, files: RunFolder, name: str, first: int) -> None:
        files.make(name)
        place = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}"
        opened = files.open_to_write(f"{name}/{place}.{secrets.token_hex(4)}")
        self._file: BinaryIO = open(opened, "wb", buffering=0)  # noqa: SIM115 - `close` closes it
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        self._write(Event(step=first, session_log=SessionLog(status=SessionLog.START)))

    def add(self, name: str, value: float, step: int) -> None:
        """Write a figure.

        Raises:
            OSError: It cannot be written.
        """
        self._write(Event(wall_time=time.time(), step=step, summary=scalar(name, value)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, event: Any) -> None:
        data = event.SerializeToString()
        length = struct.pack("<Q", len(data))
        parts = (length, _checksum(length), data, _checksum(data))
        self._file.write(b"".join(parts))


def _checksum(data: bytes) -> bytes:
    return struct.pack("<I", masked_crc32c(data))
