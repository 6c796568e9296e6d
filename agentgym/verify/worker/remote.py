"""The evidence in a worker: files are read directly, everything else is asked of the host.

The host is asked only for the parts that a check looks at.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
)
from agentgym.sandbox.access import LayerAccess
from agentgym.sandbox.tree import LayerLocation, LayerTree
from agentgym.verify.checking import blame_grader
from agentgym.verify.evidence import refusal
from agentgym.verify.judge.exhibits import Show, gather
from agentgym.verify.room import artifact_key, pack_artifacts
from agentgym.verify.service_state import ServicesSeen

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


class RemoteEvidence:
    """The `agentgym.protocols.Evidence` of a worker.

    Args:
        view: The description of the world.
        ask: Asks the host.
        steps: Steps that the host has sent before; new ones are added.
        checkpoint: Id of the checkpoint whose check runs.
    """

    def __init__(self, view: View, ask: Ask, steps: list[Step], checkpoint: str = "") -> None:
        self.task, self.seed, self.params = view.task, view.seed, view.params
        self.answer, self.gave_up = view.answer, view.gave_up
        self._view, self._ask, self._known = view, ask, steps
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
        self._known += self._ask("steps", known=len(self._known))
        return tuple(self._known)

    @cached_property
    def changes(self) -> Sequence[Change]:
        """The differences of the files from the pristine ones."""
        if self._view.live:
            raise blame_grader(refusal(self.checkpoint, "changes"))
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
    def _services(self) -> ServicesSeen:
        if not self._view.services:
            raise blame_grader(
                VerifierError("this check looks at services and the environment has none")
            )
        before, after, calls = self._ask("services")
        return ServicesSeen(before, lambda: after, calls)

    @property
    def has_services(self) -> bool:
        """Whether the environment has services."""
        return self._view.services

    @property
    def tables_before(self) -> Tables:
        """The rows of the services as the setup left them."""
        return self._services.tables_before

    @property
    def tables_after(self) -> Tables:
        """The rows of the services now."""
        return self._services.tables_after

    @property
    def row_changes(self) -> Sequence[RowChange]:
        """The changed rows of the services."""
        return self._services.row_changes

    @property
    def calls(self) -> Sequence[AuditEntry]:
        """Every call of a service."""
        return self._services.calls

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
        exhibits = [_portable(one) for one in gather(cast(Evidence, self), show)]
        judgement: Judgement = self._ask(
            "judge",
            criterion=dataclasses.asdict(asked),
            exhibits=exhibits,
            votes=votes,
            top_k=top_k,
        )
        return judgement


class PristineEvidence(RemoteEvidence):
    """The world after the setup, in which an agent has done nothing."""

    def __init__(self, view: View, ask: Ask) -> None:
        untouched = dataclasses.replace(view, answer=None, gave_up=None, after=view.before)
        super().__init__(untouched, ask, [])
        for name in ("steps", "changes", "processes", "connections"):
            vars(self)[name] = ()

    @cached_property
    def after(self) -> FileTree:
        """The files as the setup left them."""
        return self.before

    @cached_property
    def _services(self) -> ServicesSeen:
        seen = super()._services
        before, _, _ = seen.parts()
        return ServicesSeen(before, lambda: before, ())


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


def _portable(exhibit: Exhibit) -> dict[str, Any]:
    """Return an exhibit as JSON."""
    fields: dict[str, Any] = {
        name: getattr(exhibit, name) for name in ("id", "kind", "title", "text")
    }
    if exhibit.image is not None:
        pixels = base64.b64encode(exhibit.image.tobytes()).decode()
        fields["image"] = {"shape": list(exhibit.image.shape), "pixels": pixels}
    return fields
