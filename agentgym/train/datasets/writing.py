"""Writes a data set: the old file stays until the new one is whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.folder import RunFolder

WriteRow = Callable[[object], None]

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
        yield lambda row: _write(file, row)


def _write(file: BinaryIO, row: object) -> None:
    text = codec.dumps(row)
    if _SURROGATE.search(text):
        text = codec.dumps(_valid(codec.loads(text)))
    file.write(text.encode() + b"\n")


def _valid(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_valid(each) for each in value]
    if isinstance(value, dict):
        return {str(_valid(name)): _valid(each) for name, each in value.items()}
    return value
