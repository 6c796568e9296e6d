"""Records of named fields, as text. Copied from fieldkit 2.0.0; do not edit."""

from fieldkit.errors import FieldError, Position
from fieldkit.record import Field, Record, merge, read, sort, write

__version__ = "2.0.0"
__all__ = ["Field", "FieldError", "Position", "Record", "merge", "read", "sort", "write"]
