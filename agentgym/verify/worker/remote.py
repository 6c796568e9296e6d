"""The evidence in a worker: files are read directly, everything else is asked of the host.

The host is asked only for the parts that a check looks at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, cast

from agentgym.errors import VerifierError
from agentgym.protocols import READ_BYTES, Evidence, FileTree, Room, Tables
from agentgym.records import (
    AuditEntry,
    Change,
    Connection,
    Criterion,
    ExecResult,
    Exhibit,
    FileStat,
    Json,
    Judgement,
    Process,
    RowChange,
    Step,
    WebRequest,
)
from agentgym.sandbox.layers.access import LayerAccess
from agentgym.sandbox.layers.tree import LayerLocation, LayerTree
from agentgym.services.diff import diff
from agentgym.services.state import Snapshot
from agentgym.services.tables import SnapshotTables
from agentgym.verify.checking import blame_grader
from agentgym.verify.evidence import refusal
from agentgym.verify.judge.exhibits import Show, gather, with_left_out
from agentgym.verify.room import artifact_key, pack_artifacts
from agentgym.verify.service_state import digest_of

Ask: TypeAlias = Callable[..., Any]
"""``ask(kind, block=b"", **fields)``: returns the host's answer, or raises."""


@dataclass(frozen=True, slots=True)
class View:
    """The description of a world that a worker gets for its checks.

    Attributes:
        task: The task's id.
        seed: Seed of the episode.
        params: Parameters of the instance.
        answer: The argument of ``submit``.
        gave_up: The argument of ``give_up``.
        before: Folder of the files after the setup; None if the host reads them.
        after: Folder of the files to be judged; None if the host reads them.
        live: Whether the episode is still running.
        services: Whether the environment has services.
        number: Tells the worlds that one runner looks at apart.
    """

    task: str
    seed: int
    params: Mapping[str, Json]
    answer: str | None
    gave_up: str | None
    before: LayerLocation | None
    after: LayerLocation | None
    live: bool
    services: bool
    number: int = 0


@dataclass(slots=True)
class Known:
    """The parts of one episode that the host has sent; a later look asks for new parts only.

    Attributes:
        steps: Steps of the agent.
        calls: Calls of services.
        before: State of the services after the setup; None if no check has looked at it.
        after: Latest state of the services that was sent; None likewise.
    """

    steps: list[Step] = field(default_factory=list)
    calls: list[AuditEntry] = field(default_factory=list)
    before: Snapshot | None = None
    after: Snapshot | None = None


class RemoteEvidence:
    """The `agentgym.protocols.Evidence` of a worker.

    Args:
        view: The description of the world.
        ask: Asks the host.
        known: What the host has sent before; new parts are added.
        checkpoint: Id of the checkpoint whose check runs.
    """

    def __init__(self, view: View, ask: Ask, known: Known, checkpoint: str = "") -> None:
        self.task, self.seed, self.params = view.task, view.seed, view.params
        self.answer, self.gave_up = view.answer, view.gave_up
        self._view, self._ask, self._known = view, ask, known
        self._packed: tuple[tuple[str, ...], bytes] | None = None
        self.checkpoint = checkpoint

    @cached_property
    def before(self) -> FileTree:
        """The files as the setup left them."""
        return _tree(self._view.before, "before", self._ask)

    @cached_property
    def after(self) -> FileTree:
        """The files to be judged."""
        return _tree(self._view.after, "after", self._ask)

    @cached_property
    def steps(self) -> Sequence[Step]:
        """The steps of the agent."""
        steps = self._known.steps
        # Some at a time, because pictures are large.
        while more := self._ask("steps", known=len(steps)):
            steps += more
        return tuple(steps)

    @cached_property
    def changes(self) -> Sequence[Change]:
        """The differences of the files from the pristine ones."""
        self._only_at_the_end("changes")
        changes: Sequence[Change] = self._ask("changes")
        return changes

    @cached_property
    def processes(self) -> Sequence[Process]:
        """The running processes."""
        processes: Sequence[Process] = self._ask("processes")
        return processes

    @cached_property
    def connections(self) -> Sequence[Connection]:
        """Every attempt to reach a host."""
        connections: Sequence[Connection] = self._ask("connections")
        return connections

    @cached_property
    def killed_for_memory(self) -> int | None:
        """Number of processes that the kernel ended for memory."""
        killed: int | None = self._ask("killed_for_memory")
        return killed

    @cached_property
    def requests(self) -> Sequence[WebRequest]:
        """Every request of the browsers."""
        self._only_at_the_end("requests")
        requests: Sequence[WebRequest] = self._ask("requests")
        return requests

    @cached_property
    def page_state(self) -> Mapping[str, Json]:
        """The values that the environment reads from the page."""
        self._only_at_the_end("page_state")
        state: Mapping[str, Json] = self._ask("page_state")
        return state

    def _only_at_the_end(self, what: str) -> None:
        if self._view.live:
            raise blame_grader(refusal(self.checkpoint, what))

    def _ask_services(self, what: str, **fields: object) -> Any:
        self._require_services()
        return self._ask(what, **fields)

    def _require_services(self) -> None:
        if not self._view.services:
            raise blame_grader(
                VerifierError("this check looks at services and the environment has none")
            )

    @cached_property
    def _services_before(self) -> Snapshot:
        if self._known.before is None:
            self._known.before = self._ask_services("services.before")
        assert self._known.before is not None
        return self._known.before

    @cached_property
    def _services_after(self) -> Snapshot:
        known = self._known.after
        now = self._ask_services("services.after", known=known and digest_of(known))
        self._known.after = now or known
        assert self._known.after is not None
        return self._known.after

    @property
    def has_services(self) -> bool:
        """Whether the environment has services."""
        return self._view.services

    @cached_property
    def tables_before(self) -> Tables:
        """The rows of the services as the setup left them."""
        return SnapshotTables(self._services_before)

    @cached_property
    def tables_after(self) -> Tables:
        """The rows of the services now."""
        return SnapshotTables(self._services_after)

    @cached_property
    def row_changes(self) -> Sequence[RowChange]:
        """The changed rows of the services."""
        return diff(self._services_before, self._services_after)

    @cached_property
    def calls(self) -> Sequence[AuditEntry]:
        """Every call of a service."""
        calls = self._known.calls
        calls += self._ask_services("calls", known=len(calls))
        return tuple(calls)

    def gold(self, name: str) -> bytes:
        """Return a gold file that the setup left on the host. Raises VerifierError."""
        data: bytes = self._ask("gold", name=name)
        return data

    def room(self, artifacts: Sequence[str] = (), *, shared: bool = False) -> Room:
        """Open a clean room. Raises GuestFileError, VerifierError."""
        if self._view.live:
            raise blame_grader(refusal(self.checkpoint, "room"))
        try:
            key = artifact_key(artifacts)
        except VerifierError as error:
            raise blame_grader(error) from None
        if self._packed is None or self._packed[0] != key:
            self._packed = key, pack_artifacts(self.after, key)
        number = self._ask("room.open", self._packed[1], artifacts=key, shared=shared)
        return RemoteRoom(number, self._ask)

    def judge(
        self,
        criterion: str | Criterion,
        show: Sequence[Show] = ("steps", "answer", "changes"),
        *,
        votes: int = 1,
        top_k: int = 5,
    ) -> Judgement:
        """Ask the judge about one criterion. Raises VerifierError."""
        if self._view.live:
            raise blame_grader(refusal(self.checkpoint, "judge"))
        self._ask("judge.there")
        asked = Criterion(criterion) if isinstance(criterion, str) else criterion
        exhibits = gather(cast(Evidence, self), show)
        judgement: Judgement = self._ask(
            "judge",
            criterion=dataclasses.asdict(asked),
            exhibits=[self._portable(one) for one in exhibits],
            votes=votes,
            top_k=top_k,
        )
        return with_left_out(judgement, exhibits)

    def _portable(self, exhibit: Exhibit) -> dict[str, Any]:
        """Return an exhibit as JSON; a picture is named by its step, and the host has it."""
        fields: dict[str, Any] = {
            name: getattr(exhibit, name) for name in ("id", "kind", "title", "text", "left_out")
        }
        if exhibit.image is not None:
            fields["screen"] = next(
                place
                for place, step in enumerate(self._known.steps)
                if step.observation.image is exhibit.image
            )
        return fields


class PristineEvidence(RemoteEvidence):
    """The world after the setup, in which an agent has done nothing."""

    def __init__(self, view: View, ask: Ask) -> None:
        untouched = dataclasses.replace(view, answer=None, gave_up=None, after=view.before)
        super().__init__(untouched, ask, Known())
        for name in ("steps", "changes", "processes", "connections"):
            vars(self)[name] = ()

    @cached_property
    def after(self) -> FileTree:
        """The files as the setup left them."""
        return self.before

    @cached_property
    def calls(self) -> Sequence[AuditEntry]:
        """No calls of services."""
        self._require_services()
        return ()

    @cached_property
    def _services_after(self) -> Snapshot:
        return self._services_before


class RemoteRoom:
    """The `agentgym.protocols.Room` of a worker."""

    def __init__(self, number: int, ask: Ask) -> None:
        self._number, self._ask = number, ask

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/root",
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
    ) -> ExecResult:
        """Run a command to its end."""
        result: ExecResult = self._ask(
            "room.run",
            bytes(stdin),
            room=self._number,
            argv=list(argv),
            cwd=cwd,
            env=dict(env or {}),
            timeout_s=timeout_s,
        )
        return result

    def read(self, path: str) -> bytes:
        """Return a file of the room. Raises GuestFileError."""
        data: bytes = self._ask("room.read", room=self._number, path=path)
        return data

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Put a file of the grader's own into the room."""
        self._ask("room.write", bytes(data), room=self._number, path=path, mode=mode)


class RemoteTree:
    """A FileTree that only the host can read, because the provider has no layers on this host."""

    def __init__(self, which: str, ask: Ask) -> None:
        self._which, self._ask = which, ask

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return what is at a path, or None if nothing is there."""
        found: FileStat | None = self._ask("stat", tree=self._which, path=path, follow=follow)
        return found

    def read(self, path: str, *, max_bytes: int = READ_BYTES) -> bytes:
        """Return a regular file's bytes."""
        data: bytes = self._ask("read", tree=self._which, path=path, max_bytes=max_bytes)
        return data

    def list(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory."""
        names: Sequence[str] = self._ask("list", tree=self._which, path=path)
        return names

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield every path below a directory, parents first, links not followed."""
        yield from self._ask("walk", tree=self._which, path=path)


def _tree(place: LayerLocation | None, which: str, ask: Ask) -> FileTree:
    if place is None:
        return RemoteTree(which, ask)
    # A worker may read every file itself, see `confinement`.
    return LayerTree(LayerAccess(privileged=True), *place)
