"""Runs an agentgym command in a sandbox, for task folders whose Python code is not trusted.

Checks, services and all other code of a task that runs on the host then run in namespaces of their
own: read-only except for a cache folder, without network, home, environment variables and other
processes, under a user id that owns nothing. Nested sandboxes start as usual. See namespaces(7).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

from agentgym import catalogue
from agentgym.authoring.quarantine_limits import QuarantineLimits
from agentgym.errors import SandboxError
from agentgym.record.folder import RunFolder
from agentgym.sandbox.layers.removal import remove
from agentgym.sandbox.seccomp import outer_program
from agentgym.scratch import scratch_folder

REPORT: Final = "report.json"
"""File in the cache folder to which a command writes its result."""

_REPORT_BYTES: Final = 16 << 20
_LINE_CHARS: Final = 4_000
_OUTPUT_BYTES: Final = 4 << 20
"""Bytes of each stream that are passed on; the reports of a thousand tasks take less."""
_A_FOLDER_S: Final = 3600
"""Seconds that a command may take for each folder; the check of a sound task takes minutes."""
_LOOK_S: Final = 0.1
_ENDED: Final = 137
"""Exit code of a command that was ended, as shells report SIGKILL."""
_ID_WHEN_ROOT: Final = 1_879_000_001
_CATALOGUES: Final = ("envs", "tasks", "verifiers", "sandboxes")
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc")
_INSTALLED: Final = ("site-packages", "dist-packages")
_METADATA: Final = (".dist-info", ".egg-info")
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "AGENTGYM_PATH", catalogue.SHADOW)
_ENTRY: Final = "from agentgym.cli import main; main()"

Say = Callable[[str, bool], None]
"""Callback that takes a line of output and whether it came from standard error."""


class Quarantine:
    """Runs agentgym commands over untrusted folders. Close it, or use it in `with`.

    Args:
        folders: Task folders that the commands read.

    Raises:
        SandboxError: A required program is not installed.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        for program in ("unshare", "setpriv", "prlimit", "bwrap"):
            if shutil.which(program) is None:
                raise SandboxError(
                    f"--untrusted needs the program {program}, which is not installed; "
                    "see: agentgym doctor"
                )
        self._folders = [Path(os.path.realpath(folder)) for folder in folders]
        self._cache = scratch_folder("untrusted")
        if os.geteuid() == 0:
            os.chown(self._cache.name, _ID_WHEN_ROOT, _ID_WHEN_ROOT)

    def __enter__(self) -> Quarantine:
        return self

    def __exit__(self, *_: object) -> None:
        remove(self._cache.name)
        self._cache.cleanup()

    def run(self, words: Sequence[str], say: Say) -> int:
        """Run ``agentgym WORDS…`` and return its exit code.

        Args:
            words: The command; a path in it must be one of the folders, or below the cache.
            say: Called with each line of output, which may hold anything.
        """
        limits = QuarantineLimits(self._cache.name)
        try:
            return self._run(limits, words, say)
        finally:
            limits.close()

    def _run(self, limits: QuarantineLimits, words: Sequence[str], say: Say) -> int:
        with _filter_file() as file:
            passed = [] if file is None else [file.fileno()]
            process = subprocess.Popen(
                limits.around(self.command(words, *passed)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment(),
                start_new_session=True,
                pass_fds=passed,
            )
        assert process.stdout is not None and process.stderr is not None
        hearers = [
            threading.Thread(target=_hear, args=(stream, say, is_error), daemon=True)
            for stream, is_error in ((process.stdout, False), (process.stderr, True))
        ]
        ends_s = time.monotonic() + (allowed_s := _A_FOLDER_S * len(self._folders))
        try:
            for hearer in hearers:
                hearer.start()
            while any(hearer.is_alive() for hearer in hearers):
                hearers[0].join(_LOOK_S)
                hearers[1].join(_LOOK_S)
                complaint = limits.complaint()
                if time.monotonic() > ends_s:
                    complaint = f"it was ended, because it took more than {allowed_s} s"
                if complaint:
                    say(complaint, True)
                    return _ENDED
            return process.wait()
        finally:
            # This also ends everything in its process namespace.
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()

    def report(self) -> bytes | None:
        """Return what a command wrote to `REPORT` in its cache folder, None if it wrote nothing.

        Raises:
            RecordError: The file is not a regular file, or is too large.
        """
        try:
            return RunFolder(Path(self._cache.name)).read(REPORT, _REPORT_BYTES)
        except OSError:
            return None

    @property
    def report_path(self) -> str:
        """Path at which a command must write `REPORT`."""
        return f"{self._cache.name}/{REPORT}"

    def command(self, words: Sequence[str], filter_fd: int | None = None) -> list[str]:
        """Return the command line that runs ``agentgym WORDS…``.

        Args:
            words: The command.
            filter_fd: Descriptor of the system call filter, None without one.
        """
        root = os.geteuid() == 0
        drop = ["--cap-add", "ALL"] if root else []
        if not root:
            # Root of the first namespace mounts; the command runs as this user, without rights.
            drop = ["--unshare-user", "--uid", str(os.geteuid()), "--gid", str(os.getegid())]
        ids = [f"--reuid={_ID_WHEN_ROOT}", f"--regid={_ID_WHEN_ROOT}", "--clear-groups"]
        return [
            *("setpriv", "--pdeathsig", "KILL", "--"),
            *("unshare", *([] if root else ["--user", "--map-root-user"]), "--mount", "--pid"),
            *("--net", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc", "--"),
            # Not bubblewrap's own /proc: with parts of it covered, no sandbox starts inside.
            *("bwrap", "--tmpfs", "/", "--bind", "/proc", "/proc", "--dev", "/dev"),
            *("--perms", "1777", "--tmpfs", "/tmp", "--tmpfs", "/run", "--dir", "/mnt"),
            *self._mounts(),
            *([] if filter_fd is None else ["--seccomp", str(filter_fd)]),
            *(*drop, "--"),
            *("setpriv", *(ids if root else []), "--inh-caps=-all", "--no-new-privs"),
            *(["--bounding-set=-all"] if root else []),
            *("--", sys.executable, "-P", "-B", "-c", _ENTRY, *words),
        ]

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        # The same modules as here; the working directory, with -P, only if it is one of them.
        path = os.pathsep.join(os.path.abspath(name) for name in filter(None, sys.path))
        own = {"HOME": "/tmp", "AGENTGYM_CACHE": self._cache.name, "PYTHONPATH": path}
        return {**kept, **own}

    def _mounts(self) -> Iterator[str]:
        """Yield the mounts; only the cache is writable."""
        seen = list(
            dict.fromkeys([*map(Path, _SYSTEM), *_python(), *_catalogues(), *self._folders])
        )
        here = _working_directory()
        inside = [*seen, Path(self._cache.name), *([here / "x"] if here else [])]
        # bubblewrap takes 9,000 arguments at most, and each module is a mount.
        folders = [parent for path in inside for parent in reversed(path.parents[:-1])]
        for folder in dict.fromkeys(folders):
            yield from ("--perms", "0755", "--dir", str(folder))
        for path in seen:
            if path.is_symlink():
                yield from ("--symlink", os.readlink(path), str(path))
            elif path.exists():
                yield from ("--ro-bind", str(path), str(path))
        yield from ("--bind", self._cache.name, self._cache.name)
        if here is not None:
            yield from ("--chdir", str(here))


@contextmanager
def _filter_file() -> Iterator[IO[bytes] | None]:
    """Make a file of the system call filter; None on a machine without one."""
    program = outer_program()
    if program is None:
        yield None
        return
    with TemporaryFile() as file:
        file.write(program)
        file.seek(0)
        yield file


def _python() -> Iterator[Path]:
    """Yield what this Python and its modules need, except the user's home as a whole."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    interpreter = Path(os.path.realpath(sys.executable)).parent.parent
    installed = [Path(sys.prefix), Path(sys.base_prefix), interpreter]
    paths = [Path(os.path.abspath(name)) for name in filter(None, sys.path)]
    installed += [path for path in paths if path.name in _INSTALLED]
    whole = [path for path in installed if path.is_dir() and not home.is_relative_to(path)]
    yield from (path for path in whole if path != Path("/usr"))
    for path in paths:
        if path.is_dir() and not any(path.is_relative_to(top) for top in (*whole, Path("/usr"))):
            yield from _modules(path)


def _modules(folder: Path) -> Iterator[Path]:
    """Yield what can be imported from a folder of sources, such as a checkout.

    A task needs no other file of it, and a socket among them would lead out.
    """
    for path in sorted(folder.iterdir()):
        is_package = (path / "__init__.py").is_file() or path.name.endswith(_METADATA)
        if is_package or (path.suffix in (".py", ".so") and path.is_file()):
            yield path


def _catalogues() -> Iterator[Path]:
    for root in catalogue.search_path():
        for kind in _CATALOGUES:
            if (root / kind).is_dir():
                yield root / kind


def _working_directory() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def _hear(stream: IO[bytes], say: Say, is_error: bool) -> None:
    """Pass lines on; split a line that does not end, and drop what is too much to read."""
    left = _OUTPUT_BYTES
    while line := stream.readline(_LINE_CHARS):
        if left <= 0:
            continue
        left -= len(line)
        say(line.decode("utf-8", "replace").rstrip("\n"), is_error)
        if left <= 0:
            say(f"(it printed more than {_OUTPUT_BYTES} bytes; the rest is left out)", is_error)
