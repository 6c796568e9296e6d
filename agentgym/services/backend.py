"""Sets of services, and live backends: services over one state with one clock and one audit."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Final

from agentgym.errors import ServiceError
from agentgym.records import Actor, AuditEntry, Json, Reply, RowRef, ToolSpec
from agentgym.services.audit import Audit
from agentgym.services.budget import LIMITS, Budget, CallLimits, over_budget
from agentgym.services.dispatch import dispatch, row_refs
from agentgym.services.functions import Function, functions_of
from agentgym.services.image import Image, Images
from agentgym.services.layout import Layout, lay_out
from agentgym.services.service import Service
from agentgym.services.state import Rows, Snapshot, State, hash_from_scratch

START: Final = "2026-03-02T09:00:00Z"
"""Default time of the clock, ISO 8601 in UTC."""

_TEMPLATES: Final = 16
_PICTURE_BYTES: Final = 64 * 2**20


class ServiceSet:
    """Services that share a state, compiled once: their tools, tables and seeded data.

    Args:
        services: Class by name.
        limits: Limits of one call of an agent or a user.

    Raises:
        ServiceError: A service is broken (code ``internal``).
    """

    def __init__(self, services: Mapping[str, type[Service]], limits: CallLimits = LIMITS) -> None:
        self.limits = limits
        self.classes = _in_order(services)
        self.functions: dict[str, Function] = {}
        for name, service in self.classes.items():
            self.functions |= functions_of(service, name)
        self.layout: Layout = lay_out(
            {name: service.schema for name, service in self.classes.items()},
            {t: columns for s in self.classes.values() for t, columns in s.volatile.items()},
            {t: columns for s in self.classes.values() for t, columns in s.seen.items()},
            {t: columns for s in self.classes.values() for t, columns in s.marks.items()},
            {t: columns for s in self.classes.values() for t, columns in s.computed.items()},
            {t: values for s in self.classes.values() for t, values in s.discarded.items()},
        )
        self._templates: OrderedDict[tuple[int, str], Snapshot] = OrderedDict()
        self._filling = threading.Lock()

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that an agent sees."""
        return tuple(function.spec for function in self.functions.values())

    def empty(self, now: str = START) -> Snapshot:
        """Return the state without any data."""
        return self.snapshot_of(self.layout.empty, now)

    def template(self, seed: int, now: str = START) -> Snapshot:
        """Return the state with the seeded data; it is created once, then cached."""
        key = seed, now
        with self._filling:
            if key not in self._templates:
                self._templates[key] = self._filled(seed, now)
                if len(self._templates) > _TEMPLATES:
                    self._templates.popitem(last=False)
            self._templates.move_to_end(key)
            return self._templates[key]

    def _filled(self, seed: int, now: str) -> Snapshot:
        backend = Backend(self, self.empty(now))
        for name, service in backend.instances.items():
            with backend.amend("setup", name):
                service.fill(random.Random(f"{name}:{seed}"))
        filled = backend.snapshot()
        backend.close()
        return filled

    def snapshot_of(self, data: bytes, now: str) -> Snapshot:
        """Return a snapshot of a database that was saved as bytes.

        Raises:
            ServiceError: The bytes are not a state of these services.
        """
        return Snapshot(data, now, self.layout, hash_from_scratch(self.layout, data))


class Backend:
    """Live services.

    Calls run one after the other, whatever thread they come from.

    Args:
        services: Services to run.
        snapshot: Initial state.
        audit: Log of the calls; a new log in memory by default.
        images: Images that calls may name; none by default.

    Attributes:
        now: Time of the clock, ISO 8601 in UTC; only the caller moves it.
        waits: Always False: the tools are functions of this process.

    Example:
        >>> from agentgym.services import Service, writes
        >>> class Notes(Service):
        ...     schema = "CREATE TABLE notes_note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"
        ...     @writes
        ...     def add(self, text: str) -> int:
        ...         '''Add a note.
        ...
        ...         Args:
        ...             text: What it says.
        ...         '''
        ...         return self.db.insert("notes_note", text=text)
        >>> backend = Backend(ServiceSet({"notes": Notes}))
        >>> backend.call("notes_add", {"text": "Buy tea"}).result
        1
        >>> backend.call("notes_add", {"txt": "Buy tea"}).error.message
        "no such argument; did you mean 'text'? expected: text"
    """

    waits = False

    def __init__(
        self,
        services: ServiceSet,
        snapshot: Snapshot | None = None,
        *,
        audit: Audit | None = None,
        images: Images | None = None,
    ) -> None:
        snapshot = services.empty() if snapshot is None else snapshot
        self.services = services
        self.budget = Budget(services.limits)
        self.state = State(snapshot, self.budget.step, services.limits.state_bytes)
        self.now = snapshot.now
        self.actor: Actor = "agent"
        self.audit = Audit() if audit is None else audit
        self.images = Images() if images is None else images
        self.lock = threading.RLock()
        self.instances = {name: service(self) for name, service in services.classes.items()}

    def call(self, tool: str, arguments: Mapping[str, Json], actor: Actor = "agent") -> Reply:
        """Call a tool; see `agentgym.services.dispatch.dispatch`."""
        return dispatch(self, tool, arguments, actor)

    def picture(self, name: str) -> Image | None:
        """Return the image of a name; None if no image has this name."""
        return self.images.get(name)

    def keep_picture(self, data: bytes, mime: str) -> str:
        """Keep an image for calls that name it, and return its name.

        Raises:
            ServiceError: There is no room for it.
        """
        if self.images.size + len(data) > _PICTURE_BYTES:
            most = f"{_PICTURE_BYTES:,} bytes"
            raise ServiceError("conflict", f"there is no room for more pictures than {most}")
        return self.images.keep(Image(data, mime))

    @property
    def hash(self) -> str:
        """Hash of the state, 64 hex digits."""
        return self.state.hash

    def snapshot(self) -> Snapshot:
        """Return the present state; it waits for a call that another thread runs."""
        with self.lock:
            return self.state.snapshot(self.now)

    def fork(self) -> Backend:
        """Return an independent backend with this state, this clock and this audit so far."""
        with self.lock:
            audit = Audit(entries=tuple(self.audit))
            return Backend(self.services, self.snapshot(), audit=audit, images=self.images)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot. The audit continues and gets an entry for this, too."""
        with self.lock:
            before = self.state.hash
            self.state.restore(snapshot)
            self.now = snapshot.now
            self.audit.append(self._entry("world", "restore", before))

    @contextmanager
    def amend(self, actor: Actor, what: str) -> Iterator[Rows]:
        """Change rows without the tools, whole or not at all, as one entry of the audit.

        Args:
            actor: Actor who makes the change.
            what: Text that takes the place of a tool's name in the audit.

        Raises:
            Exception: Any exception raised inside, after all changes have been undone.
        """
        with self.lock:
            before = self.state.hash
            self.actor = actor
            self.state.begin()
            try:
                yield self.state.rows
                patches = self.state.patches()
            except BaseException:
                self.state.rollback()
                raise
            self.state.commit(patches)
            changed = row_refs(self.state.layout, self.audit, patches)
            self.audit.append(self._entry(actor, what, before, changed))

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """Offer the rows for some queries, within the budget of one call; undo all changes.

        Raises:
            ServiceError: The queries cost too much.
        """
        with self.lock:
            self.state.begin()
            self.budget.begin()
            try:
                yield self.state.rows
            except sqlite3.OperationalError as error:
                if self.budget.over:
                    raise over_budget(self.budget.over) from error
                raise
            finally:
                self.budget.end()
                self.state.rollback()

    def note_failure(self, actor: Actor, what: str, raised: str) -> None:
        """Write a failure that is no call of a tool into the audit.

        Args:
            actor: Actor on whose part something failed.
            what: Text that takes the place of a tool's name.
            raised: The exception as text.
        """
        with self.lock:
            entry = self._entry(actor, what, self.state.hash)
            self.audit.append(replace(entry, code="internal", raised=raised))

    def _entry(
        self, actor: Actor, what: str, before: str, changed: tuple[RowRef, ...] = ()
    ) -> AuditEntry:
        """Return the audit entry of a change that is not a call."""
        return AuditEntry(
            sequence=len(self.audit),
            now=self.now,
            actor=actor,
            tool=what,
            arguments_json="{}",
            result_json="null",
            code="",
            error="",
            field="",
            raised="",
            before=before,
            after=self.state.hash,
            changed=changed,
        )

    def close(self) -> None:
        """Release the memory and the audit's file."""
        with self.lock:
            self.state.close()
            self.audit.close()


def _in_order(services: Mapping[str, type[Service]]) -> dict[str, type[Service]]:
    """Return services so that each follows those whose data it builds upon."""
    graph: dict[str, list[str]] = {}
    for name in sorted(services):
        graph[name] = sorted(services[name].after)
        for other in graph[name]:
            if other not in services:
                raise ServiceError("internal", f"service {name!r}: after: no service {other!r}")
    try:
        return {name: services[name] for name in TopologicalSorter(graph).static_order()}
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise ServiceError(
            "internal", f"services depend on each other in a circle: {circle}"
        ) from None
