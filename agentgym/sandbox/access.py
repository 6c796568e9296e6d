"""Runs layer operations in this process or in a child inside a user namespace.

Guests may leave files that their owner cannot read (mode 000). Root reads them anyway. An
unprivileged user is root over its own files only inside a user namespace, so for such a user
one long-lived child does the work there.
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
from agentgym.sandbox.layer_operations import OPERATIONS

# The child has no installed packages. It needs modules of this package that import nothing else,
# so the package is entered by name, without the imports of its own start.
_CHILD = """
import sys, types
for name, path in (("agentgym", []), ("agentgym.sandbox", [sys.argv[1]])):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = path
from agentgym.sandbox.layer_operations import serve
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
    """Runs the operations of `layer_operations.py` by name; safe to call from any thread."""

    def __init__(self, privileged: bool | None = None) -> None:
        self._direct = os.geteuid() == 0 if privileged is None else privileged
        self._lock = threading.Lock()
        self._child: subprocess.Popen[str] | None = None

    def call(self, op: str, *arguments: object) -> Any:
        """Run one operation.

        Raises:
            OSError: As the operation raised it.
            SandboxError: The namespace child cannot be started or died.
        """
        if self._direct:
            return OPERATIONS[op](*arguments)
        with self._lock:
            reply = self._ask(json.dumps({"op": op, "arguments": arguments}))
        if "errno" in reply:
            raise OSError(reply["errno"], reply["message"], reply["path"])
        value = reply["value"]
        if isinstance(value, dict) and set(value) == {"base64"}:
            return base64.b64decode(value["base64"])
        return value

    def _ask(self, line: str) -> dict[str, Any]:
        if self._child is None or self._child.poll() is not None:
            self._child = subprocess.Popen(
                [
                    *("unshare", "-Ur", sys.executable, "-I", "-S"),
                    *("-c", _CHILD, os.path.dirname(__file__)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                # A ctrl-c of the terminal would end it before it has removed what guests left.
                start_new_session=True,
            )
        assert self._child.stdin is not None and self._child.stdout is not None
        try:
            self._child.stdin.write(line + "\n")
            self._child.stdin.flush()
            answer = self._child.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.close()
            raise SandboxError(
                "the helper that reads sandbox files in a user namespace ended; "
                "are unprivileged user namespaces allowed? See: agentgym doctor"
            )
        reply: dict[str, Any] = json.loads(answer)
        return reply

    def discard(self, folder: Path) -> None:
        """Remove a folder as far as possible; the next process removes what stays."""
        with contextlib.suppress(OSError):
            self.call("remove", str(folder))

    def close(self) -> None:
        """End the child, if it was started."""
        child, self._child = self._child, None
        if child is not None:
            for stream in (child.stdin, child.stdout):
                if stream is not None:
                    stream.close()
            child.wait()
