"""Writes a data set: the old file stays until the new one is whole."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.folder import RunFolder

WriteRow = Callable[[object], None]

LOOK_BYTES: Final = 16 << 20
"""Bytes after which the disk is looked at again."""

_RESERVE_BYTES: Final = 256 << 20

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def whole_binary(path: Path) -> Iterator[BinaryIO]:
    """Write a file that appears under its name only once it is whole.

    Raises:
        RecordError: It cannot be written; an old file is unchanged.
    """
    try:
        with RunFolder(path.parent).replacing(path.name) as file:
            yield file
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def whole_lines(path: Path) -> Iterator[WriteRow]:
    """Write JSON lines into a file that appears once it is whole; yields what writes a row.

    A lone surrogate becomes U+FFFD, because readers of data sets take valid Unicode only.

    Raises:
        RecordError: It cannot be written; an old file is unchanged.
    """
    with whole_binary(path) as file:
        yield _Lines(path, file).write


class _Lines:
    """Writes rows, and leaves some of the disk free: each may repeat all before it (`trl`)."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file, self._unseen = path, file, 0
        self._reserve = min(_RESERVE_BYTES, shutil.disk_usage(path.parent).free // 4)

    def write(self, row: object) -> None:
        text = codec.dumps(row)
        if _SURROGATE.search(text):
            text = codec.dumps(_valid(codec.loads(text)))
        self._unseen += self._file.write(text.encode() + b"\n")
        if self._unseen > LOOK_BYTES:
            self._unseen = 0
            self._file.flush()
            if shutil.disk_usage(self._path.parent).free < self._reserve:
                raise RecordError(
                    f"{self._path} cannot be written: its disk is almost full; choose fewer "
                    "examples with --limit"
                )


def _valid(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_valid(each) for each in value]
    if isinstance(value, dict):
        return {str(_valid(name)): _valid(each) for name, each in value.items()}
    return value
