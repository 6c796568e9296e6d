"""The context in which a task's scripts change services: its setup, and events of its world.

A script is a Python file of the task folder with a function ``change(context)``. It runs on the
host, as checks do, and depends on nothing but the context.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TypeAlias

from agentgym.errors import AgentGymError, ServiceError, pass_interruptions
from agentgym.manifest import show_path
from agentgym.modules import execute
from agentgym.records import Actor, Json
from agentgym.services.backend import Backend
from agentgym.services.budget import WATCHDOG, CallLimits
from agentgym.services.state import Rows

SCRIPT_LIMITS: Final = CallLimits(cpu_s=600.0, wall_s=600.0, memory_bytes=8 << 30)
"""Limits of one run of a script; those on time and memory apply."""


class SetupContext:
    """The interface of a script: the tools that an agent has, and the rows.

    Args:
        backend: The live services.
        actor: Actor of the calls.
        name: Name of the script, for audit entries of row changes without a tool.
        params: Parameters of the task's instance.
        seed: Seed of `rng`; equal seeds give equal numbers.

    Attributes:
        params: Parameters of the task's instance.
        rng: Source of all random choices.
        left: Values that were left for the checks, by name.
    """

    def __init__(
        self, backend: Backend, actor: Actor, name: str, params: Mapping[str, Json], seed: str
    ) -> None:
        self.params = params
        self.rng = random.Random(seed)
        self.left: dict[str, bytes] = {}
        self._backend, self._actor, self._name = backend, actor, name
        self._rows: Rows | None = None
        self._open = ExitStack()

    @property
    def now(self) -> str:
        """Logical time, ISO 8601 in UTC."""
        return self._backend.now

    @property
    def db(self) -> Rows:
        """The tables of all services; rows may be added, altered and removed."""
        assert self._rows is not None
        return self._rows

    def call(self, tool: str, **arguments: Json) -> Any:
        """Call a tool and return its result.

        Raises:
            ServiceError: The service refuses the call.
        """
        self._close()
        reply = self._backend.call(tool, arguments, self._actor)
        self._enter()
        if reply.error is not None:
            raise reply.error
        return reply.result

    def gold(self, name: str, data: bytes | str) -> None:
        """Leave a value for the checks, which read it with ``evidence.gold(name)``.

        Raises:
            TypeError: It is neither text nor bytes.
        """
        if not isinstance(data, str | bytes):
            raise TypeError(f"gold {name!r}: expected text or bytes, got {type(data).__name__}")
        self.left[name] = data.encode() if isinstance(data, str) else data

    def interrupt(self) -> None:
        """Interrupt the query that the script runs now; another thread may call it."""
        self._backend.state.interrupt()

    def run(self, change: Change) -> None:
        """Run a script, whole or not at all.

        Raises:
            Exception: Any exception of the script, after the state is as before.
        """
        with self._backend.lock:
            before = self._backend.snapshot()
            self._enter()
            try:
                change(self)
                self._close()
            except BaseException as error:
                self._open.__exit__(type(error), error, error.__traceback__)
                self._backend.restore(before)
                raise

    def _enter(self) -> None:
        self._rows = self._open.enter_context(self._backend.amend(self._actor, self._name))

    def _close(self) -> None:
        self._rows = None
        self._open.close()


Change: TypeAlias = Callable[[SetupContext], None]


def load_change(path: Path, error: type[AgentGymError]) -> Change:
    """Return the function ``change(context)`` of a script.

    Args:
        path: The script.
        error: The class to raise, that of the caller's boundary.

    Raises:
        AgentGymError: Of class `error`: the file is absent, cannot be loaded or lacks the function.
    """
    if not path.is_file():
        raise error(f"{show_path(path)}: no such file; expected a script with change(context)")
    change = getattr(execute(path, error), "change", None)
    if not inspect.isfunction(change) or len(inspect.signature(change).parameters) != 1:
        raise error(f"{show_path(path)}: expected a function change(context)")
    return change


def run_change(context: SetupContext, path: Path, error: type[AgentGymError]) -> None:
    """Run a script over a context.

    Raises:
        AgentGymError: Of class `error`: the script cannot be loaded, or raised; names the line.
    """
    watched, change = None, None
    try:
        try:
            watched = WATCHDOG.watch(SCRIPT_LIMITS, context.interrupt)
            change = load_change(path, error)
            context.run(change)
        finally:
            WATCHDOG.leave(watched)
    except BaseException as raised:
        # The watchdog may have raised while it was being left.
        WATCHDOG.leave(watched)
        pass_interruptions(raised)
        line = f"{show_path(path)}:{_line_of(raised, path)}"
        if watched is not None and watched.over:
            raise error(f"{line}: it does not end: it takes {watched.over}") from raised
        if change is None:
            raise
        # Whatever an author's function raises, the script is broken.
        what = raised if isinstance(raised, ServiceError) else f"{type(raised).__name__}: {raised}"
        raise error(f"{line}: {what}") from raised


def _line_of(raised: BaseException, path: Path) -> int:
    line, trace = 1, raised.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
