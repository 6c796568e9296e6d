"""The worker's side: bind the checks of one rubric, run those the host orders, report results.

A worker serves one judgement after another. The host dismisses it when it has grown too large, or
when a check ended in a way that may have damaged the process.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import socket
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym import catalogue
from agentgym.errors import AgentGymError
from agentgym.records import Change, CheckResult, Json
from agentgym.task.state import state_hash
from agentgym.verify.checking import (
    BoundCheck,
    Broken,
    LeafResults,
    bind_folder,
    blame_grader,
    tidy,
)
from agentgym.verify.rubric.algebra import evaluate
from agentgym.verify.rubric.tree import Rubric
from agentgym.verify.worker.confinement import limit, resident_bytes
from agentgym.verify.worker.contacts import Contacts
from agentgym.verify.worker.forgery import forgeries
from agentgym.verify.worker.frames import WorkerGoneError, ask, hear
from agentgym.verify.worker.pumping import PUMPED_CHARS, compiled, note, pumped
from agentgym.verify.worker.remote import Known, PristineEvidence, RemoteEvidence, View

PATTERN_CPU_S = 5
"""Limit of one search with a pattern of a check, in seconds.

A quadratic pattern such as `\\s+$` takes 1.6 s on a quiet processor and more on a busy one.
"""

FORGED_CPU_S = 5
FORGED_BYTES = 256 * 2**20
"""Limits of a check over one piece of forged evidence."""
_GROWN_BYTES = 96 * 2**20


@dataclass(frozen=True, slots=True)
class Job:
    """The data for one judgement of a worker.

    Attributes:
        folder: The task's ``checks`` folder.
        params: Parameters of the instance.
        cwd: The host's working directory, where the search path of packs begins.
        environment: The host's environment variables.
    """

    folder: Path
    params: Mapping[str, Json]
    cwd: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Judgement:
    """An order to judge one episode.

    Attributes:
        view: The world to look at.
        changes: The differences of its files from the pristine ones, for the checks and the digest.
        known: Results that need no check, by id of leaf or condition.
        judged: Whether a judge is set.
        volatile_paths: Globs of paths that the digest of the changes leaves out.
        left_s: Time until the deadline, in seconds.
    """

    view: View
    changes: Sequence[Change]
    known: Mapping[str, CheckResult]
    judged: bool
    volatile_paths: Sequence[str]
    left_s: float


class _CheckBrokeError(Exception):
    """Raised to leave a rubric at a check that broke; the host decides what it means."""


def work(host: socket.socket) -> None:
    """Serve the host until it closes the socket."""
    # The host has already reported conflicts on the search path.
    logging.getLogger(catalogue.__name__).setLevel(logging.ERROR)
    worker = _Worker(host)
    # The host is gone, or dismisses this worker.
    with contextlib.suppress(WorkerGoneError):
        while True:
            op, *arguments = hear(host)
            ask(host, getattr(worker, f"on_{op}")(*arguments))


class _Worker:
    """Carries out the host's orders; each method is named after its order."""

    def __init__(self, host: socket.socket) -> None:
        self._host = host
        self._rubric: Rubric | None = None
        self._checks: dict[str, BoundCheck] = {}
        self._view: View | None = None
        self._evidence: RemoteEvidence | None = None
        self._known = Known()
        self._empty_bytes = resident_bytes()
        self._contacts = Contacts()
        self._judge_s = 0.0

    def on_open(self, job: Job) -> dict[str, Any]:
        """Bind the checks of a rubric."""
        limit()
        self._forget()
        try:
            os.chdir(job.cwd)
            os.environ.clear()
            os.environ.update(job.environment, TMPDIR=tempfile.gettempdir())
            self._rubric, self._checks = bind_folder(job.folder, job.params)
        except (AgentGymError, OSError) as error:
            return {"refused": str(error)}
        except Exception as error:  # noqa: BLE001 - an author's module may raise anything
            return {"refused": traceback.format_exception_only(error)[-1].strip()}
        return {}

    def on_look(self, view: View, ids: Sequence[str]) -> dict[str, Any]:
        """Look at a running world with several checks; each result is sent at once."""
        self._see(view)
        for id in ids:
            ask(self._host, {"found": id, **self._reported(self._attempt(id))})
        return {}

    def on_run(self, view: View, id: str, pristine: bool) -> dict[str, Any]:
        """Run one check."""
        self._see(view)
        return self._reported(self._attempt(id, pristine))

    def on_judge(self, order: Judgement) -> dict[str, Any]:
        """Run the checks that the rubric needs; each result is sent at once.

        The host evaluates the rubric too and needs the results in the same order, so it sends no
        order for each. The answer is empty after a check that broke. Otherwise it has the digest of
        the changes, and this judgement is over.
        """
        assert self._rubric is not None
        until_s = time.monotonic() + order.left_s
        self._judge_s = 0.0
        self._see(order.view)
        vars(self._evidence)["changes"] = order.changes
        results = LeafResults(self._tell, order.known)
        try:
            evaluate(self._rubric, results, judged=order.judged)
        except _CheckBrokeError:
            return {}
        left_s = until_s + self._judge_s - time.monotonic()
        digest = self._hash(order.volatile_paths, left_s) if left_s > 0 else ""
        return {"hash": digest, **self.on_close()}

    def _tell(self, id: str) -> CheckResult:
        """Run a check of the rubric and send its result."""
        found = self._attempt(id)
        ask(self._host, {"found": id, **self._reported(found)})
        if isinstance(found, Broken):
            raise _CheckBrokeError
        return found

    def _see(self, view: View) -> None:
        """Look at a world, unless the last check looked at it."""
        if view != self._view:
            self._view = view
            self._evidence = RemoteEvidence(view, self._ask, self._known)

    def _attempt(self, id: str, pristine: bool = False) -> CheckResult | Broken:
        assert self._view is not None and self._evidence is not None
        limit()
        evidence = PristineEvidence(self._view, self._ask) if pristine else self._evidence
        evidence.checkpoint = id
        return self._checks[id].attempt(evidence)

    def _reported(self, found: CheckResult | Broken) -> dict[str, Any]:
        """Return the message for a result."""
        if isinstance(found, Broken):
            return {
                "broken": found.what,
                "by_grader": found.by_grader,
                "spent": found.spent,
                "channels": found.channels,
                "contacts": self._contacts.take(),
            }
        return {
            "status": found.status,
            "message": found.message,
            "score": None if found.score is None else float(found.score),
            "controllable": found.controllable,
            "channels": found.channels,
            "contacts": self._contacts.take(),
        }

    def on_forge(self, view: View, id: str, begin: int, programs: bool) -> dict[str, Any]:
        """Run one check over forged evidence, from a given forgery on; announce each first."""
        self._see(view)
        assert self._evidence is not None
        check = self._checks[id]
        limit()
        with compiled() as patterns:
            made = forgeries(self._evidence, check.attempt, programs)
        for value in check.scope().values():
            note(patterns, value)
        for number, (name, forge) in enumerate(made[begin:], begin):
            ask(self._host, {"found": "trying", "number": number, "name": name})
            limit(FORGED_CPU_S, FORGED_BYTES)
            found = check.attempt(forge())
            if isinstance(found, Broken) and not found.by_grader:
                ask(self._host, {"found": "broken", "name": name, "what": found.what})
        texts = [(p, text) for _, p in sorted(patterns.items()) for text in pumped(p)]
        for number, (pattern, text) in enumerate(texts, len(made)):
            if number < begin:
                continue
            name = f"{PUMPED_CHARS:,} characters in its pattern {tidy(pattern.pattern)!r}"
            ask(self._host, {"found": "trying", "number": number, "name": name})
            limit(PATTERN_CPU_S, FORGED_BYTES)
            pattern.search(text)
        return {}

    def on_hash(self, view: View, volatile_paths: Sequence[str], left_s: float) -> dict[str, Any]:
        """Digest the changes of an episode."""
        self._see(view)
        return {"hash": self._hash(volatile_paths, left_s)}

    def _hash(self, volatile_paths: Sequence[str], left_s: float) -> str:
        assert self._evidence is not None
        limit(math.ceil(left_s) + 1)
        until_s = time.monotonic() + left_s
        changes, after = self._evidence.changes, self._evidence.after
        return state_hash(changes, after, volatile_paths, until_s)

    def on_close(self) -> dict[str, Any]:
        """Forget the last judgement."""
        self._forget()
        return {"sound": self._is_sound()}

    def _forget(self) -> None:
        self._rubric, self._checks = None, {}
        self._view, self._evidence, self._known = None, None, Known()

    def _is_sound(self) -> bool:
        """Return whether this process may judge another episode.

        A check must leave no memory, threads or processes behind.
        """
        grown = resident_bytes() > self._empty_bytes + _GROWN_BYTES
        return not grown and threading.active_count() == 1 and not _has_children()

    def _ask(self, kind: str, block: bytes = b"", **fields: object) -> Any:
        """Ask the host and return its answer, or raise its exception."""
        asked_s = time.monotonic()
        ask(self._host, {"ask": kind, **fields}, block)
        verdict, value = hear(self._host)
        if kind == "judge":
            self._judge_s += time.monotonic() - asked_s
        if verdict == "answer":
            return value
        if verdict == "guest":
            raise value
        assert isinstance(value, BaseException)
        raise blame_grader(value)


def _has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True
