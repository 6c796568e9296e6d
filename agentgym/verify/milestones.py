"""Milestones: checkpoints that are checked after every step until they first hold.

The module owns the live evidence and the step at which each milestone was reached. It decides
whether a check is broken or only does not hold yet. `Sandbox.look` reads the world: it makes no
copy and runs nothing of the guest.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from agentgym.errors import (
    SandboxDiedError,
    SandboxError,
    VerifierError,
)
from agentgym.protocols import FileTree, Sandbox, SandboxProvider
from agentgym.records import (
    Audit,
    CheckResult,
    CheckStatus,
    Connection,
    Process,
    Step,
)
from agentgym.task.model import Instance, Task
from agentgym.task.setup import Prepared
from agentgym.verify.checking import Broken, tidy
from agentgym.verify.evidence import CommonEvidence
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.service_state import ServicesSeen
from agentgym.verify.thread import in_thread
from agentgym.verify.turns import LOOKS
from agentgym.verify.worker.runner import BROKE, CheckRunner

DEADLINE_S = 5.0
"""Time limit in seconds for all checks of one look; the guest is paused meanwhile."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment of a look at the world.

    Attributes:
        step: Index of the last step; -1 right after the reset.
        steps: The agent's steps so far.
        answer: The argument of ``submit``, if it was called.
        gave_up: The argument of ``give_up``, if it was called.
        services: The present services; None if the environment has no services.
    """

    step: int
    steps: Sequence[Step] = ()
    answer: str | None = None
    gave_up: str | None = None
    services: ServicesSeen | None = None


@dataclass(kw_only=True)
class LiveEvidence(CommonEvidence):
    """The `agentgym.protocols.Evidence` of a running episode.

    It refuses `changes`, `room` and `judge`, which need a finished world; see `refusal`.
    """

    audit: Callable[[], Audit]

    @property
    def processes(self) -> Sequence[Process]:
        """The running processes."""
        return self.audit().processes

    @property
    def connections(self) -> Sequence[Connection]:
        """Every attempt to reach a host so far."""
        return self.audit().connections

    @property
    def killed_for_memory(self) -> int | None:
        """Number of processes that the kernel ended for memory so far; None if not counted."""
        return self.audit().killed_for_memory


class Looker(Protocol):
    """Runs the checks of milestones."""

    def look(
        self, ids: Sequence[str], evidence: LiveEvidence, until_s: float
    ) -> Iterator[tuple[str, CheckResult | Broken]]:
        """Yield the results of the checks of some milestones, one after the other."""
        ...

    def stop(self) -> None:
        """End a look that takes too long; when this returns, nothing reads the guest's files."""
        ...

    def close(self) -> None:
        """Stop running checks."""
        ...


class WorkerLooker:
    """Runs the checks in one worker for the whole episode.

    Args:
        instance: The task with its parameters.
    """

    def __init__(self, instance: Instance) -> None:
        self._runner = CheckRunner(instance)

    def open(self) -> None:
        """Bind the checks, so that the first look does not wait for it.

        Raises:
            VerifierError: They cannot be bound.
        """
        self._runner.open()

    def look(
        self, ids: Sequence[str], evidence: LiveEvidence, until_s: float
    ) -> Iterator[tuple[str, CheckResult | Broken]]:
        """Yield the results of the checks of some milestones, one after the other."""
        return self._runner.look(ids, evidence, until_s)

    def stop(self) -> None:
        """End a look that takes too long."""
        self._runner.drop()

    def close(self) -> None:
        """Return the worker to the pool."""
        self._runner.close()


class Milestones:
    """The milestones of one episode; `open_milestones` creates it.

    Args:
        ids: Ids of the checkpoints, in the order of the rubric.
        looker: Runs their checks.
        instance: The task with its parameters.
        before: The files as the setup left them.
        gold: Files that the setup left for the checks.
        deadline_s: For all checks of one look; a check without a result by then runs again later.

    Attributes:
        ids: Ids of the checkpoints, in the order of the rubric.
        reached: Index of the step after which each first held, by id.
    """

    def __init__(
        self,
        ids: Sequence[str],
        looker: Looker,
        instance: Instance,
        before: FileTree,
        gold: Mapping[str, bytes],
        *,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self.ids = tuple(ids)
        self.reached: dict[str, int] = {}
        self._looker, self._instance = looker, instance
        self._before, self._gold, self._deadline_s = before, gold, deadline_s
        self._results: dict[str, CheckResult] = {}
        self._sound: set[str] = set()
        self._earlier = Audit()

    def follow(self, other: Milestones, earlier: Audit) -> None:
        """Take over what another episode's milestones have come to, of which this is a fork.

        Args:
            other: Those of the other episode.
            earlier: What the audit of its sandbox holds.
        """
        self.reached, self._results = dict(other.reached), dict(other._results)
        self._sound, self._earlier = set(other._sound), earlier

    def results(self) -> dict[str, CheckResult]:
        """Return the present results: passed with a step, broken, or not passed yet."""
        return {id: self._result(id) for id in self.ids}

    def _result(self, id: str) -> CheckResult:
        found = self._results.get(id, CheckResult(CheckStatus.FAIL, "never looked at"))
        if id in self.reached or found.status is not CheckStatus.FAIL:
            return found
        return replace(found, score=None, message=f"never held; at the last look: {found.message}")

    def _open(self) -> list[str]:
        """Return the ids that are still checked: neither reached nor broken."""
        return [
            id
            for id in self.ids
            if id not in self.reached
            and (id not in self._results or self._results[id].status is not CheckStatus.ERROR)
        ]

    async def observe(self, sandbox: Sandbox, moment: Moment) -> None:
        """Check every milestone that has not held yet.

        Raises:
            SandboxDiedError: The sandbox is gone; SandboxEndedError if the guest ended it.
        """
        waiting = self._open()
        if not waiting:
            return
        try:
            async with LOOKS.turn(), sandbox.look() as tree:
                seen = await self._look(waiting, self._evidence(sandbox, moment, tree))
        except SandboxDiedError:
            raise
        except SandboxError as error:
            # A guest can refuse to pause. That is not an error of a check.
            seen = {id: CheckResult(CheckStatus.FAIL, str(error)) for id in waiting}
        late = CheckResult(CheckStatus.FAIL, f"no result within {self._deadline_s:g} s")
        for id in waiting:
            result = self._classify(id, seen.get(id, late), moment)
            if result.status is CheckStatus.PASS:
                self.reached[id] = moment.step
                result = replace(result, step=moment.step)
            self._results[id] = result

    async def _look(
        self, waiting: Sequence[str], evidence: LiveEvidence
    ) -> dict[str, CheckResult | Broken]:
        """Return the results that came in time."""
        found: dict[str, CheckResult | Broken] = {}
        until_s = time.monotonic() + self._deadline_s
        over = threading.Event()

        def work() -> None:
            for id, result in self._looker.look(waiting, evidence, until_s):
                if over.is_set() or time.monotonic() >= until_s:
                    return
                found[id] = result

        looking = in_thread(work)
        try:
            await asyncio.wait({looking}, timeout=self._deadline_s)
        finally:
            if not looking.done():
                # The guest goes on when this returns, and its files may then lead anywhere.
                over.set()
                self._looker.stop()
        seen = dict(found)
        await asyncio.wait({looking})
        looking.result()
        return seen

    def _classify(self, id: str, found: CheckResult | Broken, moment: Moment) -> CheckResult:
        """Return a result; if a check worked before the agent acted, the agent has broken it."""
        if not isinstance(found, Broken):
            if moment.step < 0:
                self._sound.add(id)
            return found
        if found.by_grader or (moment.step < 0 or id not in self._sound):
            return found.as_error()
        return CheckResult(CheckStatus.FAIL, tidy(BROKE + found.what), channels=found.channels)

    def close(self) -> None:
        """Stop looking."""
        self._looker.close()

    def _evidence(self, sandbox: Sandbox, moment: Moment, tree: FileTree) -> LiveEvidence:
        loop = asyncio.get_running_loop()

        # Few checks ask for it, and it takes a request to the supervisor.
        @functools.cache
        def audit() -> Audit:
            now = asyncio.run_coroutine_threadsafe(sandbox.audit(), loop).result()
            return now.following(self._earlier)

        return LiveEvidence(
            task=self._instance.task.id,
            seed=self._instance.seed,
            params=self._instance.params,
            steps=moment.steps,
            answer=moment.answer,
            gave_up=moment.gave_up,
            before=self._before,
            after=tree,
            gold_files=self._gold,
            services=moment.services,
            audit=audit,
        )


async def open_milestones(
    instance: Instance, prepared: Prepared, provider: SandboxProvider
) -> Milestones | None:
    """Return the milestones of a task; None if its rubric has no milestones.

    The result is also None for a broken rubric; grading reports the fault.
    """
    looker = WorkerLooker(instance)
    try:
        # The rubric is parsed once; whether it has changed is one look at its folder.
        ids = milestones_of(instance.task)
        if not ids:
            return None
    except VerifierError:
        return None
    # A machine that is too busy to start a worker now may have one at the first look. A check that
    # cannot be bound is an error of each look.
    with contextlib.suppress(VerifierError):
        await in_thread(looker.open)
    before = await provider.open_tree(prepared.snapshot)
    return Milestones(ids, looker, instance, before, prepared.gold)


def milestones_of(task: Task) -> tuple[str, ...]:
    """Return the ids of a task's milestones.

    Raises:
        VerifierError: The rubric is broken.
    """
    if task.foreign is not None:  # it has no rubric, whatever its folder holds
        return ()
    path = task.folder / "checks" / "rubric.toml"
    try:
        changed_ns = path.stat().st_mtime_ns
    except OSError:
        return ()
    return _declared(path, changed_ns)


@functools.lru_cache(maxsize=256)
def _declared(path: Path, changed_ns: int) -> tuple[str, ...]:
    """Return the ids of a rubric's milestones; cached, because every reset asks for them."""
    return tuple(leaf.id for leaf in load_rubric(path).milestones())
