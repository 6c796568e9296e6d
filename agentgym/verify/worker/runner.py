"""The host's side of one judgement: runs checks in a worker, and says whose doing a broken one is.

A check that takes too long or too much memory, or raises, has met what the agent left. It is a
fail, unless the same check also breaks in the world in which nothing was done: then it is the
check that is broken, and an error. Were that an error too, an agent could have its failures
struck from the record.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from agentgym.errors import VerifierError
from agentgym.records import CheckResult, CheckStatus
from agentgym.task.model import Instance
from agentgym.verify.checking import Broken
from agentgym.verify.evidence import CommonEvidence
from agentgym.verify.worker.frames import WorkerGoneError, answer, tell
from agentgym.verify.worker.host import Answers, place_of
from agentgym.verify.worker.pool import WORKERS, Worker
from agentgym.verify.worker.remote import View
from agentgym.verify.worker.session import Job

BROKE = "the check broke on what the agent left: "
BIND_S = 30.0


class CheckRunner:
    """Runs the checks of one rubric in a worker, which is replaced when it had to be killed.

    To be used from one thread; `stop` may be called from any.

    Args:
        instance: The task with its parameters.
    """

    def __init__(self, instance: Instance) -> None:
        self._job = Job(
            folder=instance.task.folder.absolute() / "checks",
            params=instance.params,
            cwd=os.getcwd(),
            environment=dict(os.environ),
        )
        self._worker: Worker | None = None
        self._view: View | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def __enter__(self) -> CheckRunner:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def open(self) -> None:
        """Have the checks bound.

        Raises:
            VerifierError: They cannot be.
        """
        self._ready()

    def see(self, evidence: CommonEvidence, *, live: bool) -> None:
        """Let the checks look at this world from now on."""
        self._view = View(
            task=evidence.task,
            seed=evidence.seed,
            params=evidence.params,
            answer=evidence.answer,
            gave_up=evidence.gave_up,
            before=place_of(evidence.before),
            after=place_of(evidence.after),
            live=live,
            services=evidence.services is not None,
        )
        if self._worker is not None:
            self._order(("see", self._view), _soon(), None)

    def run(
        self, id: str, answers: Answers, until: Callable[[], float], *, pristine: bool = False
    ) -> CheckResult | Broken:
        """Run one check.

        Args:
            id: Of the leaf or condition.
            answers: What the host tells of the world.
            until: Says when it is stopped, on the monotonic clock.
            pristine: In the world in which nothing was done.
        """
        try:
            self._ready()
        except VerifierError as error:
            return Broken(str(error), by_grader=True)
        found = self._order(("run", id, pristine), until, answers)
        if isinstance(found, Broken):
            return found
        if "broken" in found:
            if found["spent"]:
                self.drop()
            channels = tuple(found["channels"])
            return Broken(found["broken"], found["by_grader"], found["spent"], channels)
        return CheckResult(
            CheckStatus(found["status"]),
            str(found["message"]),
            found["score"],
            bool(found["controllable"]),
            channels=tuple(found["channels"]),
        )

    def hash(self, volatile_paths: Sequence[str], answers: Answers, until_s: float) -> str:
        """Digest what an episode changed; empty where the time is not enough."""
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            return ""
        try:
            self._ready()
        except VerifierError:
            return ""
        order = ("hash", list(volatile_paths), left_s)
        found = self._order(order, lambda: until_s + 1, answers)
        return "" if isinstance(found, Broken) else str(found["hash"])

    def close(self) -> None:
        """Give the worker back."""
        worker = self._worker
        if worker is None:
            return
        found = self._order(("close",), _soon(), None)
        if isinstance(found, Broken) or found["grown"]:
            self.drop()
            return
        with self._lock:
            sound, self._worker = self._worker, None
        if sound is not None:
            WORKERS.give_back(sound)

    def drop(self) -> str:
        """Kill the worker, if there is one, and say how it came to end.

        The next check gets another one.
        """
        with self._lock:
            worker, self._worker = self._worker, None
        return "" if worker is None else worker.kill()

    def stop(self) -> None:
        """Run nothing any more; the worker is dead when this returns. From any thread."""
        self._stopped = True
        self.drop()

    def _ready(self) -> None:
        """See to it that there is a worker with the checks bound, looking at the world.

        Raises:
            VerifierError: There is none.
        """
        if self._worker is not None:
            return
        orders: list[tuple[Any, ...]] = [("open", self._job)]
        if self._view is not None:
            orders.append(("see", self._view))
        worker = WORKERS.lend()
        with self._lock:
            self._worker = worker
        if self._stopped:
            self.drop()
            raise VerifierError("the judging is over")
        for order in orders:
            found = self._order(order, _soon(), None)
            refused = found.what if isinstance(found, Broken) else found.get("refused")
            if refused:
                self.drop()
                raise VerifierError(refused)

    def _order(
        self, order: tuple[Any, ...], until: Callable[[], float], answers: Answers | None
    ) -> dict[str, Any] | Broken:
        """Give a worker an order and answer what it asks until it is carried out."""
        worker = self._worker
        if worker is None:
            return Broken("the judging is over", by_grader=True)
        began_s = time.monotonic()
        try:
            worker.socket.settimeout(BIND_S)
            tell(worker.socket, order)
            while True:
                said, block = answer(worker.socket, until())
                if "ask" not in said:
                    return said
                if answers is None:
                    raise WorkerGoneError("it asks when it has nothing to ask")
                worker.socket.settimeout(BIND_S)
                tell(worker.socket, answers.reply(said, block))
        except TimeoutError:
            self.drop()
            return Broken(f"no result within {time.monotonic() - began_s:.3g} s", spent=True)
        except WorkerGoneError:
            return Broken(self.drop() or "the judging was stopped", spent=True)


def _soon() -> Callable[[], float]:
    until_s = time.monotonic() + BIND_S
    return lambda: until_s
