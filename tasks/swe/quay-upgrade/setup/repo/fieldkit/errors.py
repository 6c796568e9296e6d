"""Errors with a position."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """A line of a text, counted from 1."""

    line: int


class FieldError(Exception):
    """A text is no record, or a record has no such field."""

    def __init__(self, message, line=0):
        super().__init__(message)
        self.position = Position(line)
