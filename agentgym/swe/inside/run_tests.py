"""Runs tests in a clean room: the one program of the grader that lives beside the tested code.

It reads an order from standard input, lays the patch over the repository, runs the tests in a child
process, ends every process that they left, and only then writes what it has seen. The child has no
descriptor of this process, and its memory is closed to it (prctl(2), PR_SET_DUMPABLE). A report
counts only with the secret that the child's runner got before any tested code ran. The modules that
it imports are sent with it (`agentgym.swe.program`).

Order: a line of JSON, then the contents of the files that it names, one after the other. Answer: a
line of JSON; a report that is too long for a line lies in a file that it names.

Each module that is imported here takes time of every grading; most of these pytest imports anyway.
"""

import base64
import contextlib
import ctypes
import hashlib
import importlib
import json
import os
import resource
import select
import shutil
import signal
import stat
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from agentgym.swe.inside.parts import watch_parts
from agentgym.swe.inside.places import Places, runner_folders
from agentgym.swe.inside.sources import Sources
from agentgym.swe.inside.telling import SEAL, listener, teller
from agentgym.swe.inside.watching import watch_code, watch_reports

REPORT_BYTES, TOLD_BYTES = 32 * 2**20, 8 * 2**20
LINE_BYTES = 40_000
_SET_DUMPABLE, _SET_SUBREAPER = 4, 36
_CLEAN_UP_S = 10.0
_REPORT_END = 4000
_USAGE_ERROR = 4


def main() -> None:
    prctl = ctypes.CDLL(None).prctl
    if prctl(_SET_DUMPABLE, 0, 0, 0, 0) or prctl(_SET_SUBREAPER, 1, 0, 0, 0):
        sys.exit("prctl failed")
    order = json.loads(sys.stdin.buffer.readline())
    lay_over(order["root"], order["remove"], order["files"], sys.stdin.buffer.read())
    started = time.monotonic()
    seen = watch(*start(order, prctl), order)
    seen["tests_s"] = time.monotonic() - started
    seen["clean"] = end_descendants()
    answer(seen)


def lay_over(
    root: str, remove: Sequence[str], files: Sequence[tuple[str, int, int]], contents: bytes
) -> None:
    """Remove paths, then write files and links: path, mode in Git's notation, size."""
    for path in remove:
        full = place(root, path)
        if os.path.isdir(full) and not os.path.islink(full):
            shutil.rmtree(full)
        elif os.path.lexists(full):
            os.unlink(full)
    end = 0
    for path, mode, size in files:
        begin, end = end, end + size
        full = place(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if stat.S_ISLNK(mode):
            os.symlink(contents[begin:end], os.fsencode(full))
            continue
        handle = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(contents[begin:end])
            file.flush()
            os.fchmod(handle, stat.S_IMODE(mode))
            # The same files have the same times in every room.
            os.utime(handle, (0, 0))


def place(root: str, path: str) -> str:
    """Return the full path; end the program if a link above it leads elsewhere."""
    top = os.path.realpath(root)
    full = os.path.join(top, path)
    if os.path.realpath(os.path.dirname(full)) != os.path.dirname(full):
        sys.exit(f"{path}: a folder above it is a link")
    return full


def start(order: dict[str, Any], prctl: Callable[..., int]) -> tuple[int, int, int, bytes]:
    """Start the child; return its id, the ends of its pipes, and the secret of its report."""
    secret = [os.urandom(32)]
    log, log_end = os.pipe()
    report, report_end = os.pipe()
    child = os.fork()
    if child:
        os.close(log_end)
        os.close(report_end)
        return child, log, report, secret[0]
    try:
        prctl(_SET_DUMPABLE, 1, 0, 0, 0)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for end, number in ((nothing, 0), (log_end, 1), (log_end, 2)):
            os.dup2(end, number)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        number = _dup_beyond_limit(report_end)
        os.closerange(3, number)
        os.chdir(order["root"])
        os.environ.update(order["env"])
        if "command" in order:
            os.close(number)
            os.execvp(order["command"][0], order["command"])
        run_pytest(order, secret, number)
    except BaseException as error:
        # What is wrong with the environment stands in the log.
        os.write(2, f"the test runner failed: {error!r}\n".encode())
        raise
    finally:
        os._exit(70)


def _dup_beyond_limit(end: int) -> int:
    """Give a pipe a number that programs do not close with all others that they may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    number = min(hard - 1, max(soft, _REPORT_END))
    os.dup2(end, number, inheritable=False)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, number), hard))
    return number


def run_pytest(order: dict[str, Any], secret: list[bytes], report: int) -> NoReturn:
    """Run pytest in this process and pass its JUnit XML on; never returns."""
    # No frame below which tests run keeps the secret.
    listen = listener()
    tell = teller(secret.pop(), report, REPORT_BYTES, listen)
    folder = f"/tmp/{os.urandom(8).hex()}"
    os.mkdir(folder, 0o700)
    junit, config = f"{folder}/report.xml", f"{folder}/{order['config_name']}"
    with open(config, "w") as file:
        file.write(order["config"])
    import unittest.case

    import pytest
    from _pytest import config as configured
    from _pytest import junitxml, runner

    # pytest imports them later; what it consists of is known before.
    for name in configured.default_plugins:
        importlib.import_module(f"_pytest.{name}")

    # Tested code may replace what writes and sends the report.
    vars(junitxml)["open"] = open
    audit, leave, flush = sys.audit, os._exit, sys.stdout.flush
    # Tested code need not learn from its environment that tests run.
    vars(runner)["_update_current_test_var"] = lambda item, when: None
    sys.argv = ["python3"]
    root = order["root"]
    places = Places(root, order["targets"], order["changed"])
    folders = runner_folders((pytest, unittest.case))
    sources = Sources(places.hidden)
    replaced = watch_parts(places, sources, folders, listen)
    look = watch_code(places, sources, folders, tell, listen)
    imports = Imports(order["python_path"])
    escape = escaped_by(junitxml.bin_xml_escape)
    plugin = watch_reports(
        pytest, escape, replaced, look, places, sources, order["plugins"], [imports], tell
    )
    code = pytest.main(
        [
            *("-q", "--color=no", "--tb=line", "--runxfail", "--continue-on-collection-errors"),
            # What is rewritten could be rewritten by others, and is compared with no file.
            "--assert=plain",
            *("-p", "no:cacheprovider", "-o", "addopts=", "-o", "junit_family=xunit1"),
            *("-c", config, "--rootdir", root, "--confcutdir", root, f"--junitxml={junit}"),
            *(word for plugin in order["plugins"] for word in ("-p", plugin)),
            *order["targets"],
        ],
        plugins=[imports, plugin],
    )
    flush()
    if code == _USAGE_ERROR:
        # Settings that pytest refuses: it says so, and writes no report.
        leave(code + 0)
    look()
    for what in replaced(whole=True):
        tell(b"M", what)
    audit(SEAL, junit)
    # Without the handlers that tested code may have registered.
    leave(code + 0)
    raise AssertionError("it has left")


class Imports:
    """A plug-in that adds folders to import from, as the setting `pythonpath` of pytest 7 does.

    Args:
        folders: Full paths. Plug-ins that pytest loads at its start are imported before they count.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = folders

    def pytest_load_initial_conftests(self) -> None:
        """Add the folders; pytest calls this before it imports anything of the repository."""
        sys.path[:0] = self._folders


def escaped_by(escape: Callable[[object], Any]) -> Callable[[object], str]:
    """Return pytest's function that escapes for XML; before pytest 6 its result was no text."""
    if isinstance(escape(""), str):
        return escape
    return lambda value: str(escape(value).uniobj)


def watch(
    child: int, log: int, report: int, secret: bytes, order: dict[str, Any]
) -> dict[str, Any]:
    """Collect output and report until the child ends or its time is over."""
    begun, limit = time.monotonic(), order["timeout_s"]
    until = begun + limit
    kept = {log: bytearray(), report: bytearray()}
    most = {log: order["log_bytes"], report: TOLD_BYTES + REPORT_BYTES + 64}
    process = os.pidfd_open(child)
    omitted, waiting = {log: 0, report: 0}, [process, log, report]
    status: int | None = None
    while True:
        left = until - time.monotonic()
        if status is None and left <= 0:
            # A busy machine is no fault of the tests.
            until = begun + min(limit + waited_s(), order["longest_s"])
            left = until - time.monotonic()
        if status is not None or left <= 0:
            # A process that outlives the child may hold the pipes open; take what is there.
            left = 0
        ready = select.select(waiting, [], [], left)[0]
        for end in ready:
            if end == process:
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                waiting.remove(process)
                continue
            data = os.read(end, 65536)
            if not data:
                waiting.remove(end)
            kept[end] += data
            surplus = len(kept[end]) - most[end]
            if surplus > 0:
                omitted[end] += surplus
                del kept[end][:surplus]
        if left <= 0 and (not ready or status is None or time.monotonic() > until + 1):
            break
    os.close(process)
    told, _, sealed = bytes(kept[report]).partition(secret)
    # If a line was lost or added, the report says nothing.
    valid = sealed.endswith(secret) and sealed.startswith(hashlib.sha256(told).digest())
    return {
        "exit_code": status,
        "timed_out": status is None,
        "told": told[:TOLD_BYTES],
        "report": sealed[32:].removesuffix(secret) if valid and len(told) <= TOLD_BYTES else b"",
        "log": bytes(kept[log]),
        "omitted_bytes": omitted[log],
    }


def waited_s() -> float:
    """Return how long the processes below this one have waited for a processor, in seconds."""
    total = 0
    for process in descendants():
        # Time on a processor, time of waiting for one, number of turns (kernel: sched-stats.rst).
        try:
            with open(f"/proc/{process}/schedstat") as file:
                total += int(file.read().split()[1])
        except (OSError, ValueError, IndexError):
            continue
    return total / 1e9


def end_descendants() -> bool:
    """Kill all processes below this one; return whether none is left."""
    until = time.monotonic() + _CLEAN_UP_S
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        for process in descendants():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if time.monotonic() > until:
            return False
        time.sleep(0.001)


def descendants() -> set[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                pass
    own = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in own} - own:
        own |= more
    return own - {os.getpid()}


def answer(seen: dict[str, Any]) -> None:
    packed = {key: zlib.compress(seen.pop(key)) for key in ("told", "report", "log")}
    for key, data in packed.items():
        if len(data) <= LINE_BYTES // 2:
            seen[key] = base64.b64encode(data).decode()
            continue
        # All other processes have ended, so none of them can have guessed the name.
        seen[f"{key}_file"] = f"/tmp/{os.urandom(16).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(seen[f"{key}_file"], flags, stat.S_IRUSR), "wb") as file:
            file.write(data)
    sys.stdout.write(json.dumps(seen) + "\n")
    sys.stdout.flush()
    # Taking the interpreter down in order takes time of every grading.
    os._exit(0)
