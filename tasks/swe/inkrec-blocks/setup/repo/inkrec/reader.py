"""Reads files."""

import os
from collections.abc import Iterator
from pathlib import Path

from inkrec import record
from inkrec.errors import DamageError, FormatError
from inkrec.header import check_header
from inkrec.varint import TornError


class Reader:
    """The records of a file, from the first. Each iteration reads the file anew."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __iter__(self) -> Iterator[record.Record]:
        with open(self.path, "rb") as file:
            check_header(file)
            while True:
                offset = file.tell()
                try:
                    found = record.read(file)
                except TornError as error:
                    raise DamageError(offset, str(error)) from None
                if found is None:
                    return
                kind, data = found
                if kind >= record.OWN_KINDS:
                    raise FormatError(f"byte {offset}: kind {kind} is not known")
                yield record.Record(offset, kind, data)
