"""One member."""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True)
class Member:
    """A member. Days are `YYYY-MM-DD`; `left_on` is empty for who is still a member."""

    number: int
    name: str
    email: str = ""
    joined: str = ""
    left_on: str = ""
    note: str = ""

    @classmethod
    def of(cls, row: sqlite3.Row) -> "Member":
        return cls(**dict(row))

    @property
    def is_active(self) -> bool:
        return not self.left_on
