"""The process that runs a domain's own Python with its worlds: requests with deadlines.

This module imports nothing from a checkout. A world is a process forked from one that has imported
the domain; a call that takes too long ends that world and no other.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from agentgym.errors import MissingExtraError, TaskError
from agentgym.formats.tau2.checkout import Checkout
from agentgym.formats.tau2.model import Tau2Task
from agentgym.installation import arguments
from agentgym.records import ToolSpec
from agentgym.scratch import scratch_folder, socket_address

START_S = 120.0
"""Longest time for the import of a domain, in seconds."""
CALL_S = 60.0
"""Longest time for one call, in seconds."""
RETRIEVAL = "golden_retrieval"
"""Puts the documents that a task needs into the policy, so that no model has to index them."""
_GRACE_S = 5.0
_MOST_CHARS = 32 << 20
_PACKAGES = {
    "addict": "addict",
    "deepdiff": "deepdiff",
    "docstring_parser": "docstring-parser",
    "dotenv": "python-dotenv",
    "loguru": "loguru",
    "pydantic": "pydantic",
    "toml": "toml",
    "yaml": "PyYAML",
}
"""Requirements of tau2-bench's toolkits and data models, by module, without model clients."""


class DomainProcess:
    """A domain of a checkout, imported in a process of its own; a context manager.

    Args:
        checkout: The checkout, which is only read.
        domain: Name of the domain.
        retrieval: Method by which the agent of a domain with documents finds them.
        call_s: Longest time for one request, in seconds.

    Raises:
        MissingExtraError: The interpreter lacks a package that the domain imports.
        TaskError: The domain cannot be imported, or did not start in time.
    """

    def __init__(
        self,
        checkout: Checkout,
        domain: str,
        *,
        retrieval: str = RETRIEVAL,
        call_s: float = CALL_S,
    ) -> None:
        checkout.check(domain)
        self.checkout, self.domain, self.call_s = checkout, domain, call_s
        self._options = {"retrieval_variant": retrieval}
        self._folder = scratch_folder("tau2")
        place = Path(self._folder.name)
        self._socket, self._said = place / "worlds", place / "said"
        try:
            self._process = self._started(place)
        except OSError as error:
            self._folder.cleanup()
            raise TaskError(f"{checkout.python} cannot be started: {error}") from error
        try:
            self._heard(self._report())
        except BaseException:
            self.close()
            raise

    def _started(self, place: Path) -> subprocess.Popen[bytes]:
        program = str(Path(__file__).with_name("guest.py"))
        command = [self.checkout.python, "-I", "-B", program]
        options = json.dumps(self._options)
        with self._said.open("wb") as said:
            return subprocess.Popen(
                [*command, str(self.checkout.path), self.domain, options, str(self._socket)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                cwd=place,
                env=_environment(self.checkout, place),
                start_new_session=True,
            )

    def _report(self) -> Mapping[str, Any]:
        """Return the start report of the process; empty if it ended without one."""
        assert self._process.stdout is not None
        late = threading.Timer(START_S, self._kill)
        late.start()
        try:
            line = self._process.stdout.readline(_MOST_CHARS)
        finally:
            in_time = late.is_alive()
            late.cancel()
        if not in_time:
            raise TaskError(
                f"tau2 domain {self.domain!r}: its Python was not imported within {START_S:g} s"
            )
        return dict(json.loads(line)) if line else {}

    def _heard(self, told: Mapping[str, Any]) -> None:
        if "ok" in told:
            return
        about = f"tau2 domain {self.domain!r}"
        if missing := told.get("missing"):
            packages = " ".join(_PACKAGES.values()) if missing in _PACKAGES else missing
            if self.checkout.python == sys.executable and missing in _PACKAGES:
                packages = arguments("tau2")
            install = f"{self.checkout.python} -m pip install {packages}"
            raise MissingExtraError(f"{about}: the Python module {missing}", install)
        if absent := told.get("absent"):
            raise TaskError(f"{about}: {self._relative(absent)} is absent")
        why = told.get("raised") or f"its Python ended: {self._last_words()}"
        raise TaskError(f"{about}: cannot be imported: {why}")

    def world(self) -> World:
        """Return a new world; the caller begins and closes it.

        Raises:
            TaskError: The process has ended.
        """
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_GRACE_S)
        try:
            with socket_address(self._socket) as address:
                connection.connect(address)
        except OSError as error:
            connection.close()
            raise TaskError(f"tau2 domain {self.domain!r}: its process is gone: {error}") from error
        return World(self, connection)

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def tasks(self, file: Path | None = None) -> list[dict[str, Any]]:
        """Return the tasks of a file; without a file, those that the domain itself runs.

        Raises:
            TaskError: They cannot be read.
        """
        with self.world() as world:
            found = world.ask("tasks", path=None if file is None else str(file))
        return list(found)

    def close(self) -> None:
        """End the process and all worlds in it."""
        self._kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._folder.cleanup()

    def __enter__(self) -> DomainProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _relative(self, path: str) -> str:
        with suppress(ValueError):
            return str(Path(path).relative_to(self.checkout.path))
        return path

    def _last_words(self) -> str:
        said = self._said.read_bytes()[-2000:].decode("utf-8", "replace").strip()
        return said.rpartition("\n")[2][-400:] or "it said nothing"


class World:
    """One world of a domain; a context manager. Requests are answered one by one.

    Args:
        process: Process of the domain.
        connection: Connection to the world's own process.
    """

    def __init__(self, process: DomainProcess, connection: socket.socket) -> None:
        self._process, self._connection = process, connection
        self._lines: TextIO = connection.makefile("rw", encoding="utf-8")

    def ask(self, op: str, *, times: int = 1, **given: Any) -> Any:
        """Send a request to the world and return its result.

        Args:
            op: Name of a method of the guest's World.
            times: Number of calls in the request, each of which has the full time.
            given: Arguments of the method.

        Raises:
            WorldRaisedError: The checkout's code raised; the world continues.
            WorldGoneError: The world took too long or ended itself.
            TaskError: A file is absent, or the whole domain has ended.
        """
        limit_s = self._process.call_s * times
        about = f"tau2 domain {self._process.domain!r}"
        asked = repr(given.get("name", op))
        try:
            self._connection.settimeout(limit_s + _GRACE_S)
            self._lines.write(json.dumps({"op": op, "limit_s": limit_s, **given}) + "\n")
            self._lines.flush()
            line = self._lines.readline(_MOST_CHARS)
        except OSError as error:
            raise self._lost(f"{about}: no answer to {asked}: {error or 'time-out'}") from error
        if not line:
            raise self._lost(
                f"{about}: {asked} did not end within {limit_s:g} s, or ended its process"
            )
        if not line.endswith("\n"):
            raise self._lost(f"{about}: {asked} answered more than {_MOST_CHARS} characters")
        reply = json.loads(line)
        if absent := reply.get("absent"):
            raise TaskError(f"{about}: {self._process._relative(absent)} is absent")
        if "raised" in reply:
            raise WorldRaisedError(reply["raised"])
        return reply["ok"]

    def _lost(self, message: str) -> TaskError:
        """Return the error for a world that does not answer; its domain may have ended, too."""
        return WorldGoneError(message) if self._process.alive else TaskError(message)

    def begin(self, task: Tau2Task, messages: Sequence[Mapping[str, Any]]) -> None:
        """Set the initial state of a task, then repeat recorded messages."""
        given = {"messages": list(messages), "logged_reads": sorted(task.logged_reads)}
        calls = sum(len(message.get("tool_calls") or ()) for message in messages)
        self.ask("begin", times=calls + 1, task=task.raw, **given)

    def close(self) -> None:
        """End the world; a request that waits in another thread returns at once."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        with suppress(OSError, ValueError):
            self._lines.close()
        # If a line could not be written, its file would keep the socket open.
        if (descriptor := self._connection.detach()) != -1:
            os.close(descriptor)

    def __enter__(self) -> World:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class WorldGoneError(TaskError):
    """A request took too long or ended its process; the domain continues."""


class WorldRaisedError(TaskError):
    """The checkout's own code raised; the message is the exception's type and text."""


def _environment(checkout: Checkout, place: Path) -> dict[str, str]:
    """Return the variables of the process: no secrets of this one, and no writable home."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    own = {"HOME": str(place), "TMPDIR": str(place), "LOGURU_LEVEL": "ERROR"}
    return {**kept, **own, "TAU2_DATA_DIR": str(checkout.path / "data"), "TZ": "UTC"}


def tool_of(schema: Mapping[str, Any]) -> ToolSpec:
    """Return an OpenAI function schema as a `ToolSpec`."""
    return ToolSpec(schema["name"], schema.get("description", ""), schema["parameters"])
