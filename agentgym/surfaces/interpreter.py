"""The guest's half of a program: runs it, and passes its tool calls on to the host.

The host sends this source into the sandbox, where the installed Python (3.7 or later) executes
it, so it imports only from the standard library. The host does not trust it: it checks every
frame.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import itertools
import json
import linecache
import os
import socket
import sys
import threading
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Order = dict[str, Any]

PROGRAM = "<program>"
_FOUND_S = 60.0
_WRITTEN = 100_000
_PART = 65_536


class ServiceError(Exception):
    """A tool refused a call.

    Attributes:
        code: ``not_found``, ``invalid``, ``conflict``, ``forbidden``, ``unavailable`` or
            ``internal``.
        message: The reason.
        field: The argument at fault, None if the error concerns no single argument.
    """

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        self.code, self.message, self.field = code, message, field
        super().__init__(f"{code}: {field}: {message}" if field else f"{code}: {message}")


class Line:
    """The connection to the host, for all threads and forked processes of a program.

    One question is asked at a time. Its number is in its answer: the answer of a question whose
    asker was interrupted or killed is dropped.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._asked = itertools.count()
        self._turns = turns_file()
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        # A thread that a forked process does not have may hold the lock.
        self._turn = threading.Lock()
        self._caller: int | None = None

    def ask(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Call a tool and return its result. Raises ServiceError."""
        if self._caller == threading.get_ident():
            raise ServiceError("unavailable", "a call was made during a call, by a signal handler")
        reply: dict[str, Any] | None = None
        try:
            with self._turn:
                reply = self._asked_alone(tool, arguments)
        except OSError as error:
            # A signal handler of the program may raise a TimeoutError of its own.
            if error.errno is None:
                raise
        if reply is None:
            raise ServiceError("unavailable", "the connection to the services is closed")
        if "error" in reply:
            raise ServiceError(**reply["error"])
        return reply["result"]

    def _asked_alone(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        try:
            self._caller = threading.get_ident()
            # Locks of fcntl are not inherited, and end with their process.
            fcntl.lockf(self._turns, fcntl.LOCK_EX)
            number = f"{os.getpid()}.{next(self._asked)}"
            self.send({"tool": tool, "arguments": arguments, "number": number})
            return self._answer_of(number)
        finally:
            self._caller = None
            fcntl.lockf(self._turns, fcntl.LOCK_UN)

    def _answer_of(self, number: str) -> dict[str, Any] | None:
        """Return the answer of a question, None at the end of the connection."""
        received = bytearray()
        while True:
            part = self._connection.recv(_PART)
            if not part:
                return None
            *ends, rest = part.split(b"\n")
            for end in ends:
                with contextlib.suppress(ValueError):
                    reply = json.loads((received + end).decode())
                    if isinstance(reply, dict) and reply.get("number") == number:
                        return reply
                received.clear()
            received += rest

    def send(self, frame: dict[str, Any]) -> None:
        """Write one frame."""
        self._connection.sendall(json.dumps(frame).encode() + b"\n")

    def end(self, frame: dict[str, Any]) -> None:
        """Write the last frame and wait until the host hangs up.

        A connection that is closed while an answer is unread is reset, and the frame lost.
        """
        with contextlib.suppress(OSError):
            self.send(frame)
            while self._connection.recv(_PART):
                pass


def turns_file() -> int:
    """Return a file without a name, on which processes lock their turns."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("turns")
    import tempfile  # a small Python may lack it

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def function_of(tool: str, parameters: list[str], manual: str, line: Line) -> Callable[..., Any]:
    """Return a function that calls a tool and takes its parameters in their order."""

    def function(*values: Any, **named: Any) -> Any:
        if len(values) > len(parameters):
            raise TypeError(f"{tool}() takes {len(parameters)} arguments, got {len(values)}")
        arguments = dict(zip(parameters, values))  # noqa: B905 - older Pythons know no strict
        for name in named:
            if name in arguments:
                raise TypeError(f"{tool}() got two values for {name!r}")
        return line.ask(tool, {**arguments, **named})

    function.__name__ = function.__qualname__ = tool
    function.__doc__ = f"{tool}({', '.join(parameters)}): {manual}"
    return function


def await_host() -> socket.socket:
    """Wait for the host, which finds the port on its own, and return the connection."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(1)
    listening.settimeout(_FOUND_S)
    connection, _ = listening.accept()
    listening.close()
    connection.settimeout(None)
    return connection


def run(code: str, names: dict[str, Any]) -> Any:
    """Run a program and return the value of its last line, None if that is no expression."""
    tree = ast.parse(code, PROGRAM)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, PROGRAM, "exec", dont_inherit=True), names)
    if not isinstance(last, ast.Expr):
        return None
    expression = ast.Expression(last.value)
    return eval(compile(expression, PROGRAM, "eval", dont_inherit=True), names)


def written(value: Any) -> dict[str, Any]:
    """Return a value as a frame: as JSON if possible, else as Python prints it."""
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        text = json.dumps(value, allow_nan=False)
        if len(text) <= _WRITTEN and json.loads(text) == value:
            return {"value": value}
    return {"written": repr(value)[:_WRITTEN]}


def complain(error: Exception) -> None:
    """Print an exception of a program, with a traceback of the program's own lines."""
    told = traceback.TracebackException.from_exception(error)
    frames = [frame for frame in told.stack if frame.filename != __file__]
    while frames and frames[0].filename != PROGRAM:
        del frames[0]
    told.stack = traceback.StackSummary.from_list(frames)
    lines = told.format() if frames else told.format_exception_only()
    print("".join(lines), end="", file=sys.stderr)


def main(order: Order) -> None:
    """Run the program of an order, which holds its code and the tools that it may call."""
    line = Line(await_host())
    os.dup2(1, 2)
    sys.path.insert(0, "")
    sys.argv = [PROGRAM]
    code = order["code"]
    linecache.cache[PROGRAM] = len(code), None, code.splitlines(True), PROGRAM
    names = sys.modules["__main__"].__dict__
    names.clear()
    names.update(__name__="__main__", __builtins__=__builtins__, ServiceError=ServiceError)
    for tool, (parameters, manual) in order["tools"].items():
        names[tool] = function_of(tool, parameters, manual, line)
    try:
        frame = written(run(code, names))
    except Exception as error:  # noqa: BLE001 - a program may raise anything
        complain(error)
        sys.exit(1)
    sys.stdout.flush()
    line.end(frame)
