"""The base class of services: typed methods over tables, without a state of their own."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from agentgym.errors import ServiceError
from agentgym.records import Json, Mark
from agentgym.services.live import LiveServices
from agentgym.services.state import Rows

FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class Service:
    """Base of all services. Its tools are the methods marked `reads` and `writes`.

    All its state is in the database: attributes of an instance do not survive a fork, and cannot
    be set.

    Attributes:
        schema: SQL of its tables, which are named ``<service>_<noun>``; a service in a folder
            leaves it empty and has a ``schema.sql``.
        volatile: Columns by table that the hash of the state leaves out.
        seen: Columns by table that other people see as soon as they are written. What stood there
            only for a while counts in `services.only_changed`, too.
        marks: Columns by table that are 1 while a row asks for attention, and who may clear them:
            ``"opened"``, a caller who has opened the row, or ``"owner"``.
        computed: Columns by table whose value the service computes while another column holds
            something: ``{"value": "formula"}``.
        discarded: Values by table and column of the rows that their author has thrown away before
            others saw them, such as drafts in the trash; `services.only_changed` ignores them. The
            name of a table in place of a value stands for the id of such a row there.
        after: Services whose data must exist before this one's is created; this one may call their
            methods.
    """

    schema: ClassVar[str] = ""
    volatile: ClassVar[Mapping[str, Sequence[str]]] = {}
    seen: ClassVar[Mapping[str, Sequence[str]]] = {}
    marks: ClassVar[Mapping[str, Mapping[str, Mark]]] = {}
    computed: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    discarded: ClassVar[Mapping[str, Mapping[str, Json]]] = {}
    after: ClassVar[Sequence[str]] = ()

    __slots__ = ("_backend",)
    _backend: LiveServices

    def __init__(self, backend: LiveServices) -> None:
        object.__setattr__(self, "_backend", backend)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{type(self).__name__}.{name} cannot be set: the state of a service is in its tables"
        )

    @property
    def db(self) -> Rows:
        """The tables, of this service and of its neighbours."""
        return self._backend.state.rows

    @property
    def now(self) -> str:
        """Logical time, ISO 8601 in UTC; these texts sort in the order of time."""
        return self._backend.now

    @property
    def actor(self) -> str:
        """The caller: ``agent``, ``user``, ``world`` or ``setup``."""
        return self._backend.actor

    @property
    def unlimited(self) -> bool:
        """Whether the caller is the world or the setup, which no permission limits."""
        return self.actor in ("world", "setup")

    def neighbour(self, name: str) -> Any:
        """Return another service of the same state, to call its methods within this call.

        All of it is one call: one transaction, one entry in the audit, one budget.

        Args:
            name: Name of a service that `after` lists, so that it is always there.

        Raises:
            ServiceError: `after` does not list it (code ``internal``).
        """
        if name not in self.after:
            raise ServiceError("internal", f"{type(self).__name__}.after does not list {name!r}")
        return self._backend.instances[name]

    def spend(self, operations: int) -> None:
        """Count the cost of a call, if its arguments determine how much it does.

        An operation is about a microsecond of Python: reading a cell, comparing a pair. SQL is
        counted separately.

        Raises:
            ServiceError: The call has used up its budget; all its changes are undone.
        """
        self._backend.budget.spend(operations)

    def fill(self, rng: random.Random) -> None:
        """Create the seeded data; the same generator gives the same rows."""


def moment(time: datetime) -> str:
    """Return a time in the form that states store.

    Example:
        >>> moment(datetime(2026, 3, 2, 9, tzinfo=UTC))
        '2026-03-02T09:00:00Z'
    """
    # A third of the time that `strftime` takes.
    return time.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"


def time_of(text: str) -> datetime:
    """Return the time that a stored text stands for.

    Example:
        >>> time_of("2026-03-02T09:00:00Z").hour
        9
    """
    return datetime.fromisoformat(text)
