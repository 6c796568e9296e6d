"""Recovers a state after a kill from the last snapshot and the later calls in the audit.

A state lives in memory and ends with its process. A snapshot and the calls answered after it
determine it, because nothing else changes a state.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.errors import RecordError
from agentgym.records import AuditEntry
from agentgym.services.audit import Audit
from agentgym.services.backend import Backend, ServiceSet
from agentgym.services.image import Images
from agentgym.services.state import Snapshot


def recover(
    services: ServiceSet,
    snapshot: Snapshot,
    entries: Sequence[AuditEntry],
    images: Images | None = None,
) -> Backend:
    """Return a backend as it was after the last entry.

    Args:
        services: The services of the state.
        snapshot: State to continue from.
        entries: Audit entries after the snapshot was taken, e.g. of `read_audit`.
        images: Pictures that calls may have named.

    Raises:
        RecordError: An entry cannot be repeated: it now changes the state differently, its
            arguments were cut, or the state was restored in between.
    """
    backend = Backend(services, snapshot, images=images)
    for entry in entries:
        backend.now = entry.now
        if entry.ok:
            _repeat(backend, entry)
    backend.audit = Audit(entries=entries)
    return backend


def _repeat(backend: Backend, entry: AuditEntry) -> None:
    if entry.tool == "restore" and entry.actor == "world":
        raise _stuck(entry, "the state was set back; go on from a snapshot taken after that")
    if entry.arguments.keys() == {"cut", "characters", "sha256"}:
        raise _stuck(entry, "its arguments were too long to keep")
    reply = backend.call(entry.tool, entry.arguments, entry.actor)
    if reply.error is not None:
        raise _stuck(entry, f"it is refused now: {reply.error}")
    if backend.hash != entry.after:
        raise _stuck(entry, f"the state is {backend.hash[:12]}, expected {entry.after[:12]}")


def _stuck(entry: AuditEntry, why: str) -> RecordError:
    return RecordError(f"audit entry {entry.sequence} ({entry.tool}) cannot be repeated: {why}")
