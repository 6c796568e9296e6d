"""The services as checks see them: rows before and after, differences, and every call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property

from agentgym.protocols import Tables
from agentgym.records import AuditEntry, RowChange
from agentgym.services.backend import Backend
from agentgym.services.diff import diff
from agentgym.services.state import Snapshot
from agentgym.services.tables import SnapshotTables


def digest_of(state: Snapshot) -> str:
    """Return the digest of a database with all its columns, also those that hashes ignore."""
    return hashlib.sha256(state.data).hexdigest()


class ServicesSeen:
    """The services at one moment of an episode; each part is computed only if a check asks.

    Args:
        before: State after the setup.
        after: Returns the state at the moment.
        calls: Every call of the episode until then.
    """

    def __init__(
        self, before: Snapshot, after: Callable[[], Snapshot], calls: Sequence[AuditEntry]
    ) -> None:
        self.before, self._take = before, after
        self.calls = tuple(calls)

    @classmethod
    def of(cls, before: Snapshot, backend: Backend) -> ServicesSeen:
        """Return the present state of live services, which continue to run."""
        with backend.lock:
            return cls(before, backend.snapshot, tuple(backend.audit))

    @cached_property
    def after(self) -> Snapshot:
        """State at the moment."""
        return self._take()

    @property
    def hash(self) -> str:
        """Hash of the state."""
        return self.after.hash

    @cached_property
    def tables_before(self) -> Tables:
        """The rows after the setup."""
        return SnapshotTables(self.before)

    @cached_property
    def tables_after(self) -> Tables:
        """The rows at the moment."""
        return SnapshotTables(self.after)

    @cached_property
    def row_changes(self) -> Sequence[RowChange]:
        """The changed rows."""
        return diff(self.before, self.after)
