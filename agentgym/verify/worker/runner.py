"""The host's side of one judgement: run checks in a worker and attribute a broken one.

A check that raises, or takes too much time or memory, has met something that the agent left. It
fails, unless it also breaks in the world in which nothing was done; then the check itself is
broken, which is an error. If both cases were errors, an agent could remove its failures from the
statistics.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentgym.errors import VerifierError
from agentgym.records import CheckResult, CheckStatus
from agentgym.task.model import Instance
from agentgym.verify.checking import Broken
from agentgym.verify.evidence import CommonEvidence
from agentgym.verify.worker.contacts import tell_hooks
from agentgym.verify.worker.frames import WorkerGoneError, answer, tell
from agentgym.verify.worker.host import Answers, location_of
from agentgym.verify.worker.pool import WORKERS, Worker
from agentgym.verify.worker.remote import View
from agentgym.verify.worker.session import Job, Judgement

BROKE = "the check broke on what the agent left: "
BIND_S = 30.0
FORGING_S = 300.0


class CheckRunner:
    """Runs the checks of one rubric in a worker, and replaces a worker that had to be killed.

    Use it from one thread; `stop` may be called from any.

    Args:
        instance: The task with its parameters.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._worker: Worker | None = None
        self._view: View | None = None
        self._worlds = 0
        self._lock = threading.Lock()
        self._stopped = False

    def __enter__(self) -> CheckRunner:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def bound(self) -> bool:
        """Whether it has a worker, which has bound the checks."""
        return self._worker is not None

    def open(self) -> None:
        """Bind the checks.

        Raises:
            VerifierError: They cannot be bound.
        """
        self._ready()

    def see(self, evidence: CommonEvidence) -> None:
        """Let the checks look at this finished world in later calls."""
        self._view = self._view_of(evidence, live=False)

    def look(
        self, ids: Sequence[str], evidence: CommonEvidence, until_s: float
    ) -> Iterator[tuple[str, CheckResult | Broken]]:
        """Run checks over a running world, and yield their results."""
        left = list(ids)
        answers = Answers(evidence)
        while left and time.monotonic() < until_s:
            spent = False
            try:
                self._ready()
            except VerifierError as error:
                yield left.pop(0), Broken(str(error), by_grader=True)
                continue
            order = ("look", self._view_of(evidence, live=True), left)
            for found in self._orders(order, lambda: until_s, answers):
                if isinstance(found, Broken):
                    # this check's worker is gone; the other checks get another
                    yield left.pop(0), found
                elif "found" in found:
                    left.remove(found["found"])
                    read = _read(found)
                    spent = spent or (isinstance(read, Broken) and read.spent)
                    yield found["found"], read
            if spent:
                self.drop()

    def run(
        self, id: str, answers: Answers, until: Callable[[], float], *, pristine: bool = False
    ) -> CheckResult | Broken:
        """Run one check.

        Args:
            id: Id of the leaf or condition.
            answers: Answers questions about the world.
            until: Returns when the check is stopped, in seconds on the monotonic clock.
            pristine: Whether it runs in the world in which nothing was done.
        """
        try:
            self._ready()
        except VerifierError as error:
            return Broken(str(error), by_grader=True)
        found = self._order(("run", self._view, id, pristine), until, answers)
        return found if isinstance(found, Broken) else self.read(found)

    def judge(
        self,
        known: Mapping[str, CheckResult],
        answers: Answers,
        until: Callable[[], float],
        *,
        judged: bool,
        volatile_paths: Sequence[str],
    ) -> Iterator[dict[str, Any] | Broken]:
        """Run the checks that the rubric needs, and yield the worker's messages; see `RubricPass`.

        Raises:
            VerifierError: No worker is available.
        """
        self._ready()
        assert self._view is not None
        left_s = max(0.0, until() - time.monotonic())
        order = Judgement(
            self._view,
            answers.changes(),
            dict(known),
            judged=judged,
            volatile_paths=tuple(volatile_paths),
            left_s=left_s,
        )
        yield from self._orders(("judge", order), until, answers)

    def read(self, found: Mapping[str, Any]) -> CheckResult | Broken:
        """Read a worker's message about a check; the worker is dropped if it must run no other."""
        read = _read(found)
        if isinstance(read, Broken) and read.spent:
            self.drop()
        return read

    def forge(
        self, id: str, answers: Answers, *, programs: bool = False
    ) -> Iterator[tuple[str, str]]:
        """Run one check over forged evidence, and yield each forgery that broke it and how.

        Args:
            id: Id of the leaf or condition.
            answers: Answers questions about the true world.
            programs: Whether the output of programs in clean rooms is forged too, see `forgeries`.

        Raises:
            VerifierError: No worker is available.
        """
        begin = 0
        while True:
            self._ready()
            number, name = -1, "true evidence"
            order = ("forge", self._view, id, begin, programs)
            for found in self._orders(order, _soon(FORGING_S), answers):
                if isinstance(found, Broken):
                    yield name, found.what
                elif found.get("found") == "trying":
                    told = found.get("number")
                    number = told if isinstance(told, int) else -1
                    name = str(found.get("name"))
                elif found.get("found") == "broken":
                    yield str(found.get("name")), str(found.get("what"))
            if self._worker is not None or number < begin:
                return
            begin = number + 1  # the number after the forgery that ended the worker

    def hash(self, volatile_paths: Sequence[str], answers: Answers, until_s: float) -> str:
        """Return the digest of an episode's changes; empty if the time is not enough."""
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            return ""
        try:
            self._ready()
        except VerifierError:
            return ""
        order = ("hash", self._view, list(volatile_paths), left_s)
        found = self._order(order, lambda: until_s + 1, answers)
        digest = None if isinstance(found, Broken) else found.get("hash")
        if not isinstance(digest, str):
            self.drop()
            return ""
        return digest

    def close(self) -> None:
        """Return the worker to the pool."""
        if self._worker is None:
            return
        found = self._order(("close",), _soon(), None)
        self.give_back(sound=not isinstance(found, Broken) and found.get("sound") is True)

    def give_back(self, *, sound: bool) -> None:
        """Return a worker that has forgotten its judgement to the pool.

        Args:
            sound: Whether it may judge another episode; else it is killed.
        """
        if not sound:
            self.drop()
            return
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            WORKERS.give_back(worker)

    def drop(self) -> str:
        """Kill the worker, if there is one, and return how it ended.

        The next check gets another one.
        """
        with self._lock:
            worker, self._worker = self._worker, None
        return "" if worker is None else worker.kill()

    def stop(self) -> None:
        """Run no more checks; the worker is dead when this returns. Callable from any thread."""
        self._stopped = True
        self.drop()

    def _ready(self) -> None:
        """Ensure that a worker has bound the checks.

        Raises:
            VerifierError: No worker is available.
        """
        if self._worker is not None:
            return
        worker = WORKERS.lend()
        with self._lock:
            self._worker = worker
        if self._stopped:
            self.drop()
            raise VerifierError("the judging is over")
        found = self._order(("open", self._job()), _soon(), None)
        refused = found.what if isinstance(found, Broken) else found.get("refused")
        if refused:
            self.drop()
            raise VerifierError(refused)

    def _job(self) -> Job:
        return Job(
            folder=self._instance.task.folder.absolute() / "checks",
            params=self._instance.params,
            cwd=os.getcwd(),
            environment=dict(os.environ),
        )

    def _view_of(self, evidence: CommonEvidence, *, live: bool) -> View:
        self._worlds += 1
        return View(
            task=evidence.task,
            seed=evidence.seed,
            params=evidence.params,
            answer=evidence.answer,
            gave_up=evidence.gave_up,
            before=location_of(evidence.before),
            after=location_of(evidence.after),
            live=live,
            services=evidence.services is not None,
            number=self._worlds,
        )

    def _order(
        self, order: tuple[Any, ...], until: Callable[[], float], answers: Answers | None
    ) -> dict[str, Any] | Broken:
        """Give a worker an order and return its answer at the end."""
        *_, last = self._orders(order, until, answers)
        return last

    def _orders(
        self, order: tuple[Any, ...], until: Callable[[], float], answers: Answers | None
    ) -> Iterator[dict[str, Any] | Broken]:
        """Give a worker an order, answer its questions, and yield its results until it is done."""
        worker = self._worker
        if worker is None:
            yield Broken("the judging is over", by_grader=True)
            return
        began_s = time.monotonic()
        try:
            worker.socket.settimeout(BIND_S)
            tell(worker.socket, order)
            while True:
                said, block = answer(worker.socket, until())
                if "ask" not in said:
                    yield said
                    if "found" not in said:
                        return
                elif answers is None:
                    raise WorkerGoneError("it asked a question outside of a check")
                else:
                    worker.socket.settimeout(BIND_S)
                    tell(worker.socket, answers.reply(said, block))
        except TimeoutError:
            self.drop()
            yield Broken(f"no result within {time.monotonic() - began_s:.3g} s", spent=True)
        except WorkerGoneError:
            yield Broken(self.drop() or "the judging was stopped", spent=True)


def _read(found: Mapping[str, Any]) -> CheckResult | Broken:
    """Read a worker's message about a check."""
    try:
        return _result_of(found)
    except (LookupError, TypeError, ValueError):
        return Broken("its process reported what is no result", spent=True)


def _result_of(found: Mapping[str, Any]) -> CheckResult | Broken:
    channels = tuple(found["channels"])
    tell_hooks(found["contacts"])
    if "broken" in found:
        return Broken(found["broken"], found["by_grader"], found["spent"], channels)
    return CheckResult(
        CheckStatus(found["status"]),
        str(found["message"]),
        found["score"],
        bool(found["controllable"]),
        channels=channels,
    )


def _soon(seconds: float = BIND_S) -> Callable[[], float]:
    until_s = time.monotonic() + seconds
    return lambda: until_s
