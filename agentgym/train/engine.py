"""Plays groups of episodes ahead of the learner, no further than their staleness allows.

A group that begins while the weights have version v is learnt from at version v + staleness at the
latest: only so many groups are admitted (as in AReaL, Fu et al. 2025), and what a group really
sampled from is checked again before it is used. With a staleness of 0 every batch is played with
the weights that learn from it, and what is in it does not depend on which episode ended first.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from agentgym.errors import RecordError
from agentgym.record.reading import read
from agentgym.train.curriculum import Curriculum
from agentgym.train.rollouts import Assignment, Group


class Surplus(StrEnum):
    """The fate of the groups that were begun beyond those that a batch needed."""

    CONTINUE = "continue"
    """They go on, and count for a later batch."""
    PAUSE = "pause"
    """Their episodes wait before their next completion, and go on with the next batch."""
    SNAPSHOT = "snapshot"
    """As ``pause``, and they keep a snapshot of their computer instead of a running one."""
    CANCEL = "cancel"
    """Their episodes end unjudged."""
    REISSUE = "reissue"
    """Their episodes end unjudged, and the same instances are begun anew for the next batch."""


HELD: Final = (Surplus.PAUSE, Surplus.SNAPSHOT)
"""The fates of groups whose episodes wait between two batches."""

GOES_ON: Final = (Surplus.CONTINUE, *HELD)
"""The fates of groups whose tokens may come from several versions of the weights."""


@dataclass(frozen=True)
class Batch:
    """A batch for the learner.

    Attributes:
        groups: Groups whose rewards differ, in the order of their numbers; at most as many as were
            asked for, fewer if the limit on refills was reached.
        played: All groups that ended since the last batch.
    """

    groups: tuple[Group, ...]
    played: tuple[Group, ...]


class GroupPlayer(Protocol):
    """Plays the groups of an engine, e.g. `agentgym.train.rollouts.Rollouts`."""

    async def group(self, assignment: Assignment) -> Group:
        """Play the attempts of a group."""
        ...

    def hold(self) -> None:
        """Let the episodes of groups wait before their next completion."""
        ...

    def go_on(self) -> None:
        """Let the episodes go on that wait."""
        ...


@dataclass(frozen=True)
class _State:
    """The state of an engine in a checkpoint."""

    version: int
    next: int
    counters: Mapping[str, int]
    pending: tuple[tuple[int, str, int, int], ...]
    curriculum: Mapping[str, Any]


class RolloutEngine:
    """See the module.

    Args:
        rollouts: Plays a group.
        curriculum: Chooses the groups.
        batch: Groups of a batch.
        staleness: Largest number of versions between a group's oldest token and its use.
        refills: Groups without a difference in their rewards are replaced until so many batches
            more than one have been played for it.
        overprovision: Groups begun for each group that a batch needs, at least 1.
        surplus: What becomes of those that the batch did not need.

    Attributes:
        version: The version of the weights; `advance` raises it.
        counters: Groups since the run began: ``admitted``, ``accepted``, ``alike`` (all rewards
            equal), ``stale``, ``cancelled``, and ``missing`` (episodes).

    Raises:
        ValueError: A bound is out of range.
    """

    def __init__(
        self,
        rollouts: GroupPlayer,
        curriculum: Curriculum,
        *,
        batch: int,
        staleness: int = 0,
        refills: int = 1,
        overprovision: float = 1.0,
        surplus: Surplus = Surplus.CANCEL,
    ) -> None:
        if batch < 1 or staleness < 0 or refills < 0 or overprovision < 1:
            raise ValueError("batch, staleness, refills or overprovision is out of range")
        if surplus in GOES_ON and not staleness:
            raise ValueError("groups that go on into the next batch need a staleness of at least 1")
        self._rollouts, self._curriculum = rollouts, curriculum
        self._batch, self._staleness, self._refills = batch, staleness, refills
        self._begun_ahead, self._surplus = overprovision, surplus
        self.version = 0
        self.counters: Counter[str] = Counter()
        self._next = 0
        self._again: list[Assignment] = []
        self._running: dict[asyncio.Task[Group], Assignment] = {}
        self._ready: dict[int, Group] = {}
        self._ended: list[Group] = []

    async def batch(self, tell: Callable[[int, int], None] | None = None) -> Batch:
        """Play until a batch is ready, and return it.

        Args:
            tell: Called with the groups that are ready and those that are needed.

        Raises:
            RecordError: None of the episodes has a score.
        """
        if self._surplus in HELD:
            self._rollouts.go_on()
        played_at_most = self._batch * (1 + self._refills)
        alike_before = self.counters["alike"]
        while True:
            self._drop_stale()
            alike = self.counters["alike"] - alike_before
            refills_left = played_at_most - self._batch - alike
            wanted = self._batch + min(refills_left, 0)
            if tell is not None:
                tell(len(self._ready), wanted)
            if len(self._ready) >= max(wanted, 0):
                break
            self._admit(refills_left)
            if not self._running:
                break
            done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                self._take(self._running.pop(task), task.result())
        return await self._finish()

    def advance(self) -> None:
        """Note that the weights have changed."""
        self.version += 1

    async def close(self) -> None:
        """Cancel what runs."""
        await self._cancel()

    def state_dict(self) -> dict[str, Any]:
        """Return the counters, and the assignments of the groups that are under way or unused."""
        pending = [*self._running.values(), *self._again]
        pending += [group.assignment for group in self._ready.values()]
        return {
            "version": self.version,
            "next": self._next,
            "counters": dict(self.counters),
            "pending": [[a.number, a.task, a.seed, a.size] for a in pending],
            "curriculum": self._curriculum.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`: groups that were under way begin anew.

        Raises:
            ValueError: It belongs to another engine, or is damaged.
        """
        found = read(_State, state, "engine")
        if min(found.version, found.next) < 0:
            raise ValueError("engine: expected a version and a next group from 0")
        self._curriculum.load_state_dict(found.curriculum)
        again = sorted((Assignment(*each) for each in found.pending), key=_number)
        for assignment in again:
            self._curriculum.check(assignment)
        self._again, self.version, self._next = again, found.version, found.next
        self.counters = Counter(found.counters)
        self.counters["admitted"] -= len(self._again)

    def _admit(self, refills_left: int) -> None:
        """Begin as many groups as the bound on staleness and the limit on refills allow."""
        open_ = len(self._running) + len(self._ready)
        ahead = self._batch * self._staleness
        surplus = round(self._batch * self._begun_ahead) - self._batch
        wanted = self._batch + min(refills_left, 0) + ahead + surplus
        for _ in range(wanted - open_):
            if self._again:
                assignment = self._again.pop(0)
            else:
                assignment = self._curriculum.choose(self._next)
                self._next += 1
            self.counters["admitted"] += 1
            task = asyncio.create_task(self._rollouts.group(assignment))
            self._running[task] = assignment

    def _take(self, assignment: Assignment, group: Group) -> None:
        self._ended.append(group)
        self.counters["missing"] += len(group.missing)
        if group.teaches:
            self._ready[assignment.number] = group
        else:
            self.counters["alike"] += 1

    def _drop_stale(self) -> None:
        for number, group in list(self._ready.items()):
            if self.version - group.oldest > self._staleness:
                del self._ready[number]
                self.counters["stale"] += 1

    async def _finish(self) -> Batch:
        chosen = sorted(self._ready)[: self._batch]
        groups = tuple(self._ready.pop(number) for number in chosen)
        self.counters["accepted"] += len(groups)
        if self._surplus in HELD:
            self._rollouts.hold()
        if self._surplus not in GOES_ON:
            again = await self._cancel()
            if self._surplus is Surplus.REISSUE:
                self._again = sorted([*self._again, *again], key=_number)
        played = tuple(sorted(self._ended, key=lambda group: group.assignment.number))
        self._ended.clear()
        if played and not groups and not any(group.trajectories for group in played):
            reasons = sorted({reason for group in played for reason in group.missing})
            raise RecordError(f"no episode of a batch has a score: {'; '.join(reasons[:3])}")
        self._curriculum.learn(played)
        return Batch(groups, played)

    async def _cancel(self) -> list[Assignment]:
        """Cancel what runs, and return its assignments."""
        running, self._running = self._running, {}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self.counters["cancelled"] += len(running)
        return list(running.values())


def _number(assignment: Assignment) -> int:
    return assignment.number
