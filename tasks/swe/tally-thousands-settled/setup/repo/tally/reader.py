"""Reads journals."""

import re
from datetime import date
from pathlib import Path

from tally.amount import Amount
from tally.errors import JournalError
from tally.journal import Journal, Place, Posting, Transaction

_HEAD = re.compile(r"(\d{4}-\d{2}-\d{2})\s+(.*)$")
_POSTING = re.compile(r"\s+(\S+)(?:\s{2,}(.*))?$")


def read_journal(path):
    """Return the journal in a file and in all files that it includes.

    Raises JournalError at the first problem.
    """
    return Journal(_Reader(Path(path)).read())


class _Reader:
    def __init__(self, path, above=()):
        self.path = path
        self.above = (*above, path.resolve())
        self.transactions = []
        self.current = None

    def read(self):
        for number, line in enumerate(self._lines(), 1):
            self._line(Place(str(self.path), number), line.split(";")[0].rstrip())
        self._finish()
        return self.transactions

    def _lines(self):
        try:
            return self._expand(self.path.read_text(encoding="utf-8").splitlines())
        except OSError as error:
            raise JournalError(Place(str(self.path), 0), error.strerror) from None

    def _expand(self, lines):
        """Replace each include by the lines of the file."""
        for line in lines:
            word, _, rest = line.partition(" ")
            if word != "include":
                yield line
                continue
            path = (self.path.parent / rest.strip()).resolve()
            if path in self.above:
                raise JournalError(Place(str(self.path), 0), f"{rest.strip()} includes itself")
            yield ""
            yield from _Reader(path, self.above)._lines()
            yield ""

    def _line(self, place, line):
        if not line.strip():
            self._finish()
        elif line[0].isspace():
            self._posting(place, line)
        else:
            self._finish()
            self._head(place, line)

    def _head(self, place, line):
        found = _HEAD.match(line)
        if found is None:
            raise JournalError(place, f"expected a date and a text, got {line!r}")
        try:
            when = date.fromisoformat(found[1])
        except ValueError:
            raise JournalError(place, f"{found[1]} is not a day") from None
        self.current = Transaction(when, found[2], place)

    def _posting(self, place, line):
        if self.current is None:
            raise JournalError(place, "a posting without a transaction")
        found = _POSTING.match(line)
        if found is None:
            raise JournalError(place, f"expected an account and an amount, got {line.strip()!r}")
        text, _, asserted = (found[2] or "").partition("=")
        try:
            amount = Amount.parse(text) if text.strip() else None
            assertion = Amount.parse(asserted) if asserted.strip() else None
        except ValueError as error:
            raise JournalError(place, str(error)) from None
        self.current.postings.append(Posting(found[1], amount, assertion, place))

    def _finish(self):
        if self.current is not None:
            if len(self.current.postings) < 2:
                raise JournalError(self.current.place, "a transaction needs two postings")
            self.transactions.append(self.current)
            self.current = None
