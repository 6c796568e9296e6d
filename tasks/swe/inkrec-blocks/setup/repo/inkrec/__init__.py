"""An append-only log of records in one file."""

from inkrec.errors import DamageError, FormatError
from inkrec.reader import Reader
from inkrec.record import Record
from inkrec.repair import recover
from inkrec.writer import Writer

__all__ = ["DamageError", "FormatError", "Reader", "Record", "Writer", "recover"]
