"""A simulated user's access to the live services of an episode, in their own name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.errors import NotFoundError, ServiceError, TaskError
from agentgym.records import AuditEntry, Json, Reply, ToolSpec
from agentgym.services.backend import Backend
from agentgym.services.tables import select


class UserServiceAccess:
    """The `agentgym.protocols.UserWorld` of live services.

    Args:
        backend: The services; None if the environment has no services.
    """

    def __init__(self, backend: Backend | None) -> None:
        self._backend = backend
        self.tools: Sequence[ToolSpec] = () if backend is None else backend.services.tools

    def call(self, tool: str, arguments: Mapping[str, Json]) -> Reply:
        """Call a tool as actor ``user``."""
        if self._backend is None:
            return Reply(error=ServiceError("not_found", f"no tool named {tool!r}", "tool"))
        return self._backend.call(tool, arguments, "user")

    def calls(self) -> Sequence[AuditEntry]:
        """Return the calls so far."""
        return () if self._backend is None else tuple(self._backend.audit)

    def rows(self, table: str, where: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return the rows of a table whose columns have these values.

        Raises:
            TaskError: The table or column does not exist, or a value is not plain JSON.
        """
        if self._backend is None:
            raise TaskError(f"row of {table!r}: the environment has no services")
        values: list[Any] = list(where.values())
        if not all(value is None or isinstance(value, str | int | float) for value in values):
            raise TaskError(f"row of {table!r}: expected plain values, got {dict(where)}")
        try:
            sql = select(self._backend.state.layout, table, list(where))
        except NotFoundError as error:
            raise TaskError(f"row: {error}") from error
        with self._backend.lock:
            return self._backend.state.rows.all(sql, *values)
