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
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym import catalogue
from agentgym.errors import AgentGymError
from agentgym.records import Json
from agentgym.task.state import state_hash
from agentgym.verify.checking import BoundCheck, Broken, bind_folder, blame_grader, tidy
from agentgym.verify.worker.confinement import limit, resident_bytes
from agentgym.verify.worker.contacts import Contacts
from agentgym.verify.worker.forgery import forgeries
from agentgym.verify.worker.frames import WorkerGoneError, ask, hear
from agentgym.verify.worker.pumping import PUMPED_CHARS, compiled, note, pumped
from agentgym.verify.worker.remote import Known, PristineEvidence, RemoteEvidence, View

PATTERN_CPU_S = 2
"""Limit of one search with a pattern of a check, in seconds."""

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
        self._checks: dict[str, BoundCheck] = {}
        self._view: View | None = None
        self._evidence: RemoteEvidence | None = None
        self._known = Known()
        self._empty_bytes = resident_bytes()
        self._contacts = Contacts()

    def on_open(self, job: Job) -> dict[str, Any]:
        """Bind the checks of a rubric."""
        limit()
        try:
            os.chdir(job.cwd)
            os.environ.clear()
            os.environ.update(job.environment)
            self._checks = bind_folder(job.folder, job.params)[1]
        except (AgentGymError, OSError) as error:
            return {"refused": str(error)}
        except Exception as error:  # noqa: BLE001 - an author's module may raise anything
            return {"refused": traceback.format_exception_only(error)[-1].strip()}
        self._known = Known()
        return {}

    def on_see(self, view: View) -> dict[str, Any]:
        """Look at another world in later checks."""
        self._view = view
        self._evidence = RemoteEvidence(view, self._ask, self._known)
        return {}

    def on_look(self, view: View, ids: Sequence[str]) -> dict[str, Any]:
        """Look at a running world with several checks; each result is sent at once."""
        self.on_see(view)
        for id in ids:
            ask(self._host, {"found": id, **self.on_run(id, False)})
        return {}

    def on_run(self, id: str, pristine: bool) -> dict[str, Any]:
        """Run one check."""
        assert self._view is not None and self._evidence is not None
        limit()
        evidence = PristineEvidence(self._view, self._ask) if pristine else self._evidence
        evidence.checkpoint = id
        found = self._checks[id].attempt(evidence)
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

    def on_forge(self, id: str, begin: int, programs: bool) -> dict[str, Any]:
        """Run one check over forged evidence, from a given forgery on; announce each first."""
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

    def on_hash(self, volatile_paths: Sequence[str], left_s: float) -> dict[str, Any]:
        """Digest the changes of an episode."""
        assert self._evidence is not None
        limit(math.ceil(left_s) + 1)
        until_s = time.monotonic() + left_s
        changes, after = self._evidence.changes, self._evidence.after
        return {"hash": state_hash(changes, after, volatile_paths, until_s)}

    def on_close(self) -> dict[str, Any]:
        """Forget the last judgement."""
        self._checks, self._view, self._evidence = {}, None, None
        self._known = Known()
        return {"grown": resident_bytes() > self._empty_bytes + _GROWN_BYTES}

    def _ask(self, kind: str, block: bytes = b"", **fields: object) -> Any:
        """Ask the host and return its answer, or raise its exception."""
        ask(self._host, {"ask": kind, **fields}, block)
        verdict, value = hear(self._host)
        if verdict == "answer":
            return value
        if verdict == "guest":
            raise value
        assert isinstance(value, BaseException)
        raise blame_grader(value)
