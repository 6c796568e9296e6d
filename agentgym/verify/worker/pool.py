"""The host's handle on worker processes: one fork server, and idle workers.

Workers are forked before they are needed and reused while they are sound. They end with the host in
any case: the fork server sees its socket close and kills them.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from agentgym.errors import VerifierError

_UNUSED_S = 30.0
_REPLY_BYTES = 64
_START_S = 60.0
_TELL_S = 30.0
# Variables that Python itself may need to start, and where temporary files go.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR")
_BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from agentgym.verify.worker.forkserver import main
main()
"""


class Worker:
    """One worker process.

    Attributes:
        socket: Connection for its messages, see `frames`.
        idle_since_s: Time since which it is idle, on the monotonic clock.
    """

    def __init__(self, server: ForkServer, number: int, own: socket.socket) -> None:
        self._server, self._number, self.socket = server, number, own
        self.idle_since_s = time.monotonic()
        self._ending, self._how = threading.Lock(), ""

    def alive(self) -> bool:
        """Return whether an idle worker can be given work: it has not closed its end."""
        ready, _, _ = select.select([self.socket], [], [], 0)
        return not ready

    def kill(self) -> str:
        """End it with all its children, and return how it ended.

        A second call, from any thread, waits for the first and returns the same.
        """
        with self._ending:
            if not self._how:
                with contextlib.suppress(OSError):
                    # Wake the reader of its messages, which may then close the socket.
                    self.socket.shutdown(socket.SHUT_RDWR)
                self._how = _how(self._server.end(self._number))
                self.socket.close()
        return self._how


class ForkServer:
    """The process that workers are forked from; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forked = 0
        self._own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._own.settimeout(_START_S)
        with theirs:
            self._process = start_server(theirs)

    def fork(self) -> Worker:
        """Start a worker, and do not wait until it has started.

        Raises:
            VerifierError: The server has ended.
        """
        own, theirs = socket.socketpair()
        own.settimeout(_TELL_S)
        with theirs, self._lock:
            self._forked += 1
            try:
                self._send({"op": "fork", "worker": self._forked}, [theirs.fileno()])
            except OSError as error:
                own.close()
                raise VerifierError(f"no worker process could be started: {error}") from None
            return Worker(self, self._forked, own)

    def end(self, number: int) -> int | None:
        """Kill a worker and return its wait status; None if the server has ended with it."""
        with self._lock:
            try:
                self._send({"op": "end", "worker": number})
                reply = self._own.recv(_REPLY_BYTES)
            except OSError:
                return None
        return int(reply) if reply else None

    def alive(self) -> bool:
        """Whether it can start workers."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it with all its workers."""
        self._own.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """Close it in a fork of the host, which does not own the server."""
        self._own.close()
        self._process.returncode = 0

    def _send(self, request: dict[str, Any], given: Sequence[int] = ()) -> None:
        socket.send_fds(self._own, [json.dumps(request).encode()], given)


def start_server(theirs: socket.socket) -> subprocess.Popen[bytes]:
    """Start the process of a fork server, which answers on this socket."""
    paths = json.dumps([path for path in sys.path if path])
    return subprocess.Popen(
        [sys.executable, "-IB", "-c", _BOOT, str(theirs.fileno()), paths],
        # Each job brings the host's environment at its time, see `session.Job`.
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
    )


class WorkerPool:
    """Lends workers; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: ForkServer | None = None
        self._idle: list[Worker] = []

    @property
    def is_warm(self) -> bool:
        """Whether a worker is idle."""
        return bool(self._idle)

    def warm(self) -> None:
        """Start the fork server and a worker, unless they exist; return at once."""
        with self._lock:
            server = self._serving()
            if not self._idle:
                # If the server has just ended, `lend` starts another one and reports why it cannot.
                with contextlib.suppress(VerifierError):
                    self._idle.append(server.fork())

    def lend(self) -> Worker:
        """Return an idle worker; the caller gives it back or kills it.

        Raises:
            VerifierError: No worker can be started.
        """
        with self._lock:
            server = self._serving()
            while self._idle:
                worker = self._idle.pop()
                if worker.alive():
                    return worker
                worker.kill()
        return server.fork()

    def give_back(self, worker: Worker) -> None:
        """Take back a worker that has finished its job, and end one that was not needed lately."""
        worker.idle_since_s = time.monotonic()
        spare = None
        with self._lock:
            self._idle.append(worker)
            # The last one is lent first, so the first one was idle longest.
            if worker.idle_since_s - self._idle[0].idle_since_s > _UNUSED_S:
                spare = self._idle.pop(0)
        if spare is not None:
            spare.kill()

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            server, self._server = self._server, None
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.socket.close()
        if server is not None:
            server.close()

    def forget(self) -> None:
        """Start with no workers in a fork of the host."""
        if self._server is not None:
            self._server.forget()
        for worker in self._idle:
            worker.socket.close()
        self.__init__()  # type: ignore[misc]

    def _serving(self) -> ForkServer:
        if self._server is None or not self._server.alive():
            for worker in self._idle:
                worker.socket.close()
            self._idle = []
            self._server = ForkServer()
        return self._server


def _how(status: int | None) -> str:
    if status is None:
        return "its process was ended"
    if not os.WIFSIGNALED(status):
        return f"its process ended with exit code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    if number == signal.SIGXCPU:
        return "it took too much processor time"
    return f"its process was ended by {signal.Signals(number).name}"


WORKERS = WorkerPool()
atexit.register(WORKERS.close)
os.register_at_fork(after_in_child=WORKERS.forget)
