"""Starts build operations in their own namespaces, where root owns the image's files.

An ordinary user needs a range of user ids for that (subuid(5), newuidmap(1)), because packages
install files for accounts of their own.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from agentgym.errors import MissingExtraError, SandboxError
from agentgym.records import Json

_CODE = "import sys; sys.path.append(sys.argv[1]); from build.build_namespace import main; main()"
_NAMESPACES = (
    *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc"),
    *("--propagation", "private"),
)
_SHOWN_LINES = 25


class Worker:
    """Runs operations of `build_namespace.py`, one process each, all of them in one folder.

    Args:
        room: Working directory of every operation.
        lock: A descriptor that every operation holds open while it runs.
    """

    def __init__(self, room: Path, lock: int) -> None:
        self._room, self._lock = room, lock
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Kill the operation that runs; from now on, folders are removed and nothing else is done.

        Another thread may call it.
        """
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def call(self, op: str, *, timeout_s: float, **arguments: Json) -> None:
        """Run one operation to its end; no process that it started outlives it.

        Raises:
            SandboxError: It failed, was stopped or took too long; the message ends with its last
                lines.
        """
        if self._stopped and op != "remove":
            raise SandboxError("the build was stopped")
        argv = (*as_root(), sys.executable, "-I", "-S", "-c", _CODE, str(_folder()))
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *argv],
            cwd=self._room,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(self._lock,),
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        if self._stopped and op != "remove":
            process.kill()  # it was stopped since
        timer = threading.Timer(timeout_s, process.kill)
        timer.daemon = True
        timer.start()
        lines: deque[str] = deque(maxlen=_SHOWN_LINES)
        try:
            with process.stdin as request:
                request.write(json.dumps({"op": op, **arguments}).encode())
            for line in process.stdout:
                lines.append(line.decode("utf-8", "replace").rstrip())
            status = process.wait()
        finally:
            self._process = None
            late = not timer.is_alive()
            timer.cancel()
            process.kill()
            process.wait()
            process.stdout.close()
        if self._stopped and status != 0:
            raise SandboxError("the build was stopped")
        if late:
            raise SandboxError(f"took longer than {timeout_s:.0f} s{_listed(lines)}")
        if status != 0:
            raise SandboxError(f"failed with exit code {status}{_listed(lines)}")


def _listed(lines: Sequence[str]) -> str:
    return "".join(f"\n    {line}" for line in lines)


def _folder() -> Path:
    return Path(__file__).resolve().parent.parent


def as_root() -> tuple[str, ...]:
    """Return the command that makes namespaces in which this user is root.

    Raises:
        SandboxError: This user has no range of further user ids.
        MissingExtraError: A required program is not installed.
    """
    for program in ("unshare", "setpriv"):
        if shutil.which(program) is None:
            raise MissingExtraError(program, "apt-get install util-linux")
    if os.geteuid() == 0:
        return _NAMESPACES
    if shutil.which("newuidmap") is None:
        raise MissingExtraError(
            "newuidmap, which builds by a user other than root need,", "apt-get install uidmap"
        )
    user = _name_of_user()
    for path in ("/etc/subuid", "/etc/subgid"):
        if not _has_range(path, user):
            raise SandboxError(
                f"user {user!r} has no range in {path}, and packages need accounts of their own; "
                f"run as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "
                f"{user}, or build as root"
            )
    return (*_NAMESPACES, "--user", "--map-root-user", "--map-auto")


def _name_of_user() -> str:
    """Return the name of this user; the number of one that has no account, as in containers."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _has_range(path: str, user: str) -> bool:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return False
    return any(line.split(":")[0] in (user, str(os.geteuid())) for line in lines)
