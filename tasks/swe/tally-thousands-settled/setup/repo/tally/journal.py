"""The parts of a journal."""

from dataclasses import dataclass, field
from datetime import date

from tally.amount import Amount


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    file: str
    line: int

    def __str__(self):
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Posting:
    account: str
    amount: Amount | None
    assertion: Amount | None
    place: Place


@dataclass
class Transaction:
    when: date
    payee: str
    place: Place
    postings: list[Posting] = field(default_factory=list)


@dataclass
class Journal:
    transactions: list[Transaction] = field(default_factory=list)
