"""Runs layer operations in this process or in a child inside a user namespace.

Guests may leave files that their owner cannot read (mode 000). Root reads them anyway. An
unprivileged user is root over its own files only inside a user namespace, so for such a user
long-lived children do the work there.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentgym.errors import SandboxError, SandboxLimitError
from agentgym.sandbox.layers.operations import OPERATIONS

_KEPT = 4
"""Children without work that stay for the next calls."""

# The child has no installed packages. It needs modules of this package that import nothing else,
# so the package is entered by name, without the imports of its own start.
_CHILD = """
import sys, types
for name in ("agentgym", "agentgym.sandbox"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [sys.argv[1]] if name.endswith("sandbox") else []
from agentgym.sandbox.layers.operations import serve
serve()
"""


@contextlib.contextmanager
def layers_bounded() -> Iterator[None]:
    """Turn an exceeded budget for comparing layers into a SandboxLimitError."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EOVERFLOW:
            raise SandboxLimitError(str(error.strerror)) from None
        raise


class LayerAccess:
    """Runs the operations of `operations.py` by name; safe to call from any thread.

    Each call that runs at the same time as others has a child of its own: what one guest left may
    take minutes to remove, and the files of another have to be sealed meanwhile.
    """

    def __init__(self, privileged: bool | None = None) -> None:
        self._direct = os.geteuid() == 0 if privileged is None else privileged
        self._lock = threading.Lock()
        self._idle: list[subprocess.Popen[str]] = []

    def call(self, op: str, *arguments: object) -> Any:
        """Run one operation.

        Raises:
            OSError: As the operation raised it.
            SandboxError: The namespace child cannot be started or died.
        """
        if self._direct:
            return OPERATIONS[op](*arguments)
        reply = self._ask(json.dumps({"op": op, "arguments": arguments}))
        if "errno" in reply:
            raise OSError(reply["errno"], reply["message"], reply["path"])
        value = reply["value"]
        if isinstance(value, dict) and set(value) == {"base64"}:
            return base64.b64decode(value["base64"])
        return value

    def _ask(self, line: str) -> dict[str, Any]:
        child = self._lent()
        try:
            answer = _answer(child, line)
        except BaseException:
            _end(child)
            raise
        if not answer:
            _end(child)
            raise SandboxError(
                "the helper that reads sandbox files in a user namespace ended; "
                "are unprivileged user namespaces allowed? See: agentgym doctor"
            )
        with self._lock:
            self._idle.append(child)
            surplus = self._idle[_KEPT:]
            del self._idle[_KEPT:]
        for one in surplus:
            _end(one)
        reply: dict[str, Any] = json.loads(answer)
        return reply

    def _lent(self) -> subprocess.Popen[str]:
        """Return a child that does nothing else; start one if none is idle."""
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.poll() is None:
                    return child
                _end(child)
        return subprocess.Popen(
            [
                *("unshare", "-Ur", sys.executable, "-I", "-S"),
                *("-c", _CHILD, os.path.dirname(os.path.dirname(__file__))),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # A ctrl-c of the terminal would end it before it has removed what guests left.
            start_new_session=True,
        )

    def discard(self, folder: Path) -> None:
        """Remove a folder as far as possible; the next process removes what stays."""
        with contextlib.suppress(OSError):
            self.call("remove", str(folder))

    def close(self) -> None:
        """End the children that do nothing."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            _end(child)


def _answer(child: subprocess.Popen[str], line: str) -> str:
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(line + "\n")
        child.stdin.flush()
        return child.stdout.readline()
    except BrokenPipeError:
        return ""


def _end(child: subprocess.Popen[str]) -> None:
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
    child.wait()
