"""What a service's author subclasses: typed methods over tables, without a state of their own."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import ClassVar

from agentgym.services.live import LiveServices
from agentgym.services.state import Rows

FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class Service:
    """Base of all services. Its tools are the methods marked `reads` and `writes`.

    What it knows stands in the database: attributes of an instance do not survive a fork, and
    cannot be set.

    Attributes:
        schema: SQL of its tables, which are named ``<service>_<noun>``; a service in a folder
            leaves it empty and has a ``schema.sql``.
        volatile: Columns by table that the hash of the state leaves out.
        after: Services whose data must be there before this one's is made.
    """

    schema: ClassVar[str] = ""
    volatile: ClassVar[Mapping[str, Sequence[str]]] = {}
    after: ClassVar[Sequence[str]] = ()

    __slots__ = ("_backend",)
    _backend: LiveServices

    def __init__(self, backend: LiveServices) -> None:
        object.__setattr__(self, "_backend", backend)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{type(self).__name__}.{name} cannot be set: what a service knows stands in its tables"
        )

    @property
    def db(self) -> Rows:
        """The tables, of this service and of its neighbours."""
        return self._backend.state.rows

    @property
    def now(self) -> str:
        """Logical time, ISO 8601 in UTC; such texts compare as times do."""
        return self._backend.now

    @property
    def actor(self) -> str:
        """Who calls: ``agent``, ``user``, ``world`` or ``setup``."""
        return self._backend.actor

    @property
    def unlimited(self) -> bool:
        """Whether the caller is the world or whoever sets it up, whom no right binds."""
        return self.actor in ("world", "setup")

    def spend(self, operations: int) -> None:
        """Count what a call costs, where its arguments decide how much that is.

        An operation is about a microsecond of Python: a cell looked at, a pair compared. SQL is
        counted by itself.

        Raises:
            ServiceError: The call has used up its budget; all that it did is undone.
        """
        self._backend.budget.spend(operations)

    def fill(self, rng: random.Random) -> None:
        """Make the seeded data; the same generator gives the same rows."""


def moment(time: datetime) -> str:
    """Return a time as states keep it.

    Example:
        >>> moment(datetime(2026, 3, 2, 9, tzinfo=UTC))
        '2026-03-02T09:00:00Z'
    """
    return time.astimezone(UTC).strftime(FORMAT)


def time_of(text: str) -> datetime:
    """Return the time that a state's text stands for.

    Example:
        >>> time_of("2026-03-02T09:00:00Z").hour
        9
    """
    return datetime.fromisoformat(text)
