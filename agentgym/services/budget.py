"""Limits the cost of one call of a service, and stops a call that exceeds them.

Three counts give the same answer on every machine: operations that a service reports with
`Service.spend`, steps of SQLite's virtual machine, bytes of the result. A watchdog covers the
costs that are not counted: it reads processor time, wall time and memory ten times a second, and
ends a call from outside. A call within its budget costs two dictionary operations more.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentgym.errors import ServiceError

STEPS_AT_A_TIME: Final = 10_000
"""Steps of SQLite's machine between two checks of the budget."""

_TICK_S: Final = 0.1
_IDLE_TICKS: Final = 20
_AGAIN_S: Final = 1.0
_STATM: Final = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of one call of an agent or a user.

    Attributes:
        operations: Operations as `Service.spend` counts them; about a microsecond each.
        sql_steps: Steps of SQLite's virtual machine.
        result_bytes: Size of the result as JSON.
        cpu_s: Processor time of the thread that the call runs on.
        wall_s: Wall time, for calls that wait.
        memory_bytes: Growth of this process while the call runs.
        state_bytes: Size of the whole database, including what other actors wrote.
    """

    operations: int = 1_000_000
    sql_steps: int = 20_000_000
    result_bytes: int = 4 * 2**20
    cpu_s: float = 4.0
    wall_s: float = 60.0
    memory_bytes: int = 2**30
    state_bytes: int = 32 * 2**20


LIMITS: Final = CallLimits()
"""The default limits."""


class OverBudgetError(BaseException):
    """Raised inside a call by the watchdog; a BaseException, so that services do not catch it."""


class _WithdrawnError(BaseException):
    """Raised and caught at once in place of another exception."""


class Budget:
    """The budget of the call that a backend is running.

    Args:
        limits: Limits of every call.
    """

    __slots__ = ("_operations", "_steps", "limits", "over")

    def __init__(self, limits: CallLimits) -> None:
        self.limits = limits
        self.end()

    def begin(self) -> None:
        """Begin a new call."""
        self._operations = self._steps = 0
        self.over = ""

    def end(self) -> None:
        """End the call: later actions of the world have no budget."""
        self._operations = self._steps = -(10**18)
        self.over = ""

    def spend(self, operations: int) -> None:
        """Count operations.

        Raises:
            ServiceError: The call has used up its budget.
        """
        self._operations += operations
        if self._operations > self.limits.operations:
            self.over = f"more than {self.limits.operations:,} operations"
            raise over_budget(self.over)

    def step(self) -> bool:
        """Count `STEPS_AT_A_TIME` steps of SQLite; True interrupts the statement."""
        self._steps += STEPS_AT_A_TIME
        if self._steps > self.limits.sql_steps:
            self.over = f"more than {self.limits.sql_steps:,} steps in the database"
        return bool(self.over)


def over_budget(what: str) -> ServiceError:
    """Return the error that refuses a call that costs too much."""
    return ServiceError(
        "invalid", f"the call costs {what}; nothing was changed. Ask for less at a time"
    )


# --- the watchdog ------------------------------------------------------------------------------


class Watched:
    """A call under the watchdog's supervision.

    Attributes:
        thread: Identifier of the thread that it runs on.
        over: The exceeded limit as text; empty while the call is within its limits.
    """

    __slots__ = ("_cpu_s", "_fired_s", "_interrupt", "_limits", "_memory", "_wall_s", "over")

    def __init__(self, limits: CallLimits, interrupt: Callable[[], None]) -> None:
        self._limits, self._interrupt = limits, interrupt
        # Counted from the first look on, so that a short call costs nothing.
        self._wall_s = self._cpu_s = self._fired_s = 0.0
        self._memory = 0
        self.over = ""

    def look(self, thread: int) -> None:
        """End the call if it is over its budget. Call it only while its thread is known to live."""
        wall_s, cpu_s, memory = time.monotonic(), _cpu_s(thread), _memory_bytes()
        if not self._wall_s:
            self._wall_s, self._cpu_s, self._memory = wall_s, cpu_s, memory
            return
        limits = self._limits
        if cpu_s - self._cpu_s > limits.cpu_s:
            self.over = f"more than {limits.cpu_s:g} s of processor time"
        elif wall_s - self._wall_s > limits.wall_s:
            self.over = f"more than {limits.wall_s:g} s"
        elif memory - self._memory > limits.memory_bytes:
            self.over = f"more than {limits.memory_bytes:,} bytes of memory"
        # Raise it again, because a callback of a C library may have swallowed the first.
        if self.over and wall_s - self._fired_s > _AGAIN_S:
            self._fired_s = wall_s
            self._interrupt()
            _raise_in(thread, OverBudgetError)


class Watchdog:
    """Supervises the running calls; each process has one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[int, Watched] = {}
        self._awake = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, limits: CallLimits, interrupt: Callable[[], None]) -> Watched | None:
        """Watch this thread until `leave`; return None if it is watched already."""
        thread = threading.get_ident()
        if thread in self._calls:
            return None
        watched = Watched(limits, interrupt)
        with self._lock:
            self._calls[thread] = watched
        if not self._awake.is_set():
            self._wake()
        return watched

    def leave(self, watched: Watched | None) -> None:
        """Stop watching this thread; an exception that has not arrived in it yet is withdrawn."""
        if watched is None:
            return
        with self._lock:
            self._calls.pop(threading.get_ident(), None)
            if watched.over:
                _withdraw()

    def abandon(self, thread: int) -> None:
        """Stop watching a thread that does not end; no exception waits for it any more."""
        with self._lock:
            if self._calls.pop(thread, None) is not None:
                _raise_in(thread, None)
                _withdraw()

    def _wake(self) -> None:
        with self._lock:
            # A fork copies the lock and the calls, but no thread.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="agentgym-budget", daemon=True
                )
                self._thread.start()
        self._awake.set()

    def _run(self) -> None:
        idle = 0
        while True:
            self._awake.wait()
            time.sleep(_TICK_S)
            with self._lock:
                for thread, watched in self._calls.items():
                    watched.look(thread)
                idle = 0 if self._calls else idle + 1
                if idle > _IDLE_TICKS:
                    self._awake.clear()


WATCHDOG: Final = Watchdog()
os.register_at_fork(after_in_child=WATCHDOG.__init__)  # type: ignore[misc]


def _cpu_s(thread: int) -> float:
    """Return the processor time of a live thread."""
    return time.clock_gettime(time.pthread_getcpuclockid(thread))


def _memory_bytes() -> int:
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _withdraw() -> None:
    """Take back an exception that was raised in this thread and has not arrived yet.

    Another one takes its place and arrives here. Without it Python 3.11 would keep the mark that
    some thread has an exception, and with this mark the first call under a profiler or a tracer
    never ends.
    """
    try:
        _raise_in(threading.get_ident(), _WithdrawnError)
        while True:
            time.sleep(0)
    except _WithdrawnError:
        pass


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an exception in another thread at its next instruction; None withdraws it."""
    what = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)
