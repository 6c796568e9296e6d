"""Evidence: everything a check may look at, gathered when an episode ends.

The module owns the channels: which part of the evidence is trace, audit or state, and which check
looked at which part.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, cast

from agentgym.errors import NotFoundError, VerifierError
from agentgym.protocols import Evidence, FileTree, Judge, Room, Tables
from agentgym.records import (
    AuditEntry,
    Change,
    Connection,
    Criterion,
    Exhibit,
    Json,
    Judgement,
    Process,
    RowChange,
    Step,
    WebRequest,
)
from agentgym.verify.judge.exhibits import Show, gather, with_left_out
from agentgym.verify.judge.opening import HOW
from agentgym.verify.service_state import ServicesSeen

_MOST_CRITERIA: Final = 20
"""Number of criteria for which a judge may take all of its time."""

CHANNELS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("steps", "answer", "gave_up"), "trace"),
        **dict.fromkeys(("processes", "connections", "killed_for_memory", "calls"), "audit"),
        "requests": "audit",
        "page_state": "state",
        **dict.fromkeys(("before", "after", "changes"), "state"),
        **dict.fromkeys(("tables_before", "tables_after", "row_changes"), "state"),
        **{name: name for name in ("gold", "room", "judge")},
    }
)
"""The channel of each evidence attribute; those that only identify the task have none."""


_INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        # Comparing all files would take too long at every step.
        "changes": "compare `before` and `after` where it matters",
        # A clean room is built from a snapshot, and a running world has no snapshot.
        "room": "leave out when, so that it is judged at the end",
        # A model takes seconds to answer, and the guest is paused meanwhile.
        "judge": "leave out when, so that it is judged at the end",
        "requests": "leave out when, so that it is judged at the end",
        "page_state": "leave out when, so that it is judged at the end",
    }
)


def refusal(checkpoint: str, what: str) -> VerifierError:
    """Return the message for a milestone's check that asks for evidence of a finished world."""
    return VerifierError(
        f"checkpoint {checkpoint!r} is looked at after every step (when = 'every_step'), "
        f"where there is no `{what}`: {_INSTEAD[what]}"
    )


@dataclass(kw_only=True)
class CommonEvidence:
    """The evidence that running and finished episodes have in common.

    Attributes:
        gold_files: Files that the setup left for the checks, by name.
        services: The services; None if the environment has no services.
    """

    task: str
    seed: int
    params: Mapping[str, Json]
    steps: Sequence[Step]
    answer: str | None
    gave_up: str | None
    before: FileTree
    after: FileTree
    gold_files: Mapping[str, bytes]
    services: ServicesSeen | None = None

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
        """Every call of a service, by every actor."""
        return self._services.calls

    @property
    def _services(self) -> ServicesSeen:
        if self.services is None:
            raise VerifierError("this check looks at services and the environment has none")
        return self.services

    def gold(self, name: str) -> bytes:
        """Return a gold file that the setup left on the host.

        Raises:
            VerifierError: The setup left no such file.
        """
        if name not in self.gold_files:
            hint = "a setup leaves gold files below $AGENTGYM_GOLD"
            raise VerifierError(str(NotFoundError("gold file", name, self.gold_files, hint)))
        return self.gold_files[name]


@dataclass(kw_only=True)
class EpisodeEvidence(CommonEvidence):
    """The `agentgym.protocols.Evidence` of one finished episode.

    Attributes:
        open_room: Opens a clean room, shared or fresh, for a tuple of artifacts.
        judge_with: Decides the criteria; None if no judge is set.
        judge_limit_s: Longest time of the judge for one criterion, in seconds.
    """

    changes: Sequence[Change]
    processes: Sequence[Process]
    connections: Sequence[Connection]
    open_room: Callable[[tuple[str, ...], bool], Room]
    killed_for_memory: int | None = None
    requests: Sequence[WebRequest] = ()
    page_state: Mapping[str, Json] = field(default_factory=dict)
    judge_with: Judge | None = None
    judge_limit_s: float = math.inf
    _judged_s: float = field(default=0.0, init=False)
    _judging_since_s: float = field(default=0.0, init=False)

    def room(self, artifacts: Sequence[str] = (), *, shared: bool = False) -> Room:
        """Open a clean room that holds the named artifacts, fresh or shared.

        Raises:
            GuestFileError: An artifact is missing or too large.
            VerifierError: A path is not allowed as an artifact.
        """
        return self.open_room(tuple(artifacts), shared)

    def judge(
        self,
        criterion: str | Criterion,
        show: Sequence[Show] = ("steps", "answer", "changes"),
        *,
        votes: int = 1,
        top_k: int = 5,
    ) -> Judgement:
        """Ask the judge about one criterion.

        Raises:
            VerifierError: No judge is set, or the judge gave no usable answer.
        """
        if self.judge_with is None:
            raise VerifierError(f"this check asks a judge and none is set; {HOW}")
        asked = Criterion(criterion) if isinstance(criterion, str) else criterion
        exhibits = gather(cast(Evidence, self), show)
        found = self.decide(asked, exhibits, votes=votes, top_k=top_k)
        return with_left_out(found, exhibits)

    def decide(
        self, criterion: Criterion, exhibits: Sequence[Exhibit], *, votes: int, top_k: int
    ) -> Judgement:
        """Have the judge decide within its time for one criterion.

        Raises:
            VerifierError: The judge gave no usable answer.
        """
        assert self.judge_with is not None
        limit_s = None if math.isinf(self.judge_limit_s) else self.judge_limit_s
        return self.judge_with.decide(
            criterion, exhibits, votes=votes, top_k=top_k, timeout_s=limit_s
        )

    @contextlib.contextmanager
    def judging(self) -> Iterator[None]:
        """Count the time that a block takes as the judge's."""
        began_s = time.monotonic()
        self._judging_since_s = began_s
        try:
            yield
        finally:
            self._judged_s += time.monotonic() - began_s
            self._judging_since_s = 0.0

    @property
    def judged_s(self) -> float:
        """Seconds that the judge has taken so far; at most its time for 20 criteria."""
        since_s = self._judging_since_s
        running_s = time.monotonic() - since_s if since_s else 0.0
        return min(self._judged_s + running_s, _MOST_CRITERIA * self.judge_limit_s)


class WatchedEvidence:
    """Evidence that notes the channels a check looks at. Each run of a check gets its own.

    Args:
        evidence: The evidence behind it.
    """

    def __init__(self, evidence: object) -> None:
        self._evidence = evidence
        self._seen: dict[str, None] = {}

    def __getattr__(self, name: str) -> Any:
        if name in CHANNELS:
            self._seen[CHANNELS[name]] = None
        return getattr(self._evidence, name)

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that were looked at so far, in the order of `CHANNELS`."""
        return tuple(
            channel for channel in dict.fromkeys(CHANNELS.values()) if channel in self._seen
        )
