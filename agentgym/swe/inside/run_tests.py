"""Runs tests in a clean room: the one program of the grader that lives beside the tested code.

It reads an order from standard input, lays the patch over the repository, runs the tests in a child
process, ends every process that they left, and only then writes what it has seen. The child has no
descriptor of this process, and its memory is closed to it (prctl(2), PR_SET_DUMPABLE). A report
counts only with the secret that the child's runner got before any tested code ran.

Order: a line of JSON, then the contents of the files that it names, one after the other. Answer: a
line of JSON; a report that is too long for a line lies in a file that it names.

Each module that is imported here takes time of every grading; most of these pytest imports anyway.
"""

import base64
import contextlib
import ctypes
import io
import json
import operator
import os
import select
import shutil
import signal
import stat
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Generator, Sequence
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NoReturn

REPORT_BYTES = 32 * 2**20
LINE_BYTES = 40_000
_SET_DUMPABLE, _SET_SUBREAPER = 4, 36
_CLEAN_UP_S = 10.0


def main() -> None:
    prctl = ctypes.CDLL(None).prctl
    if prctl(_SET_DUMPABLE, 0, 0, 0, 0) or prctl(_SET_SUBREAPER, 1, 0, 0, 0):
        sys.exit("prctl failed")
    order = json.loads(sys.stdin.buffer.readline())
    lay_over(order["root"], order["remove"], order["files"], sys.stdin.buffer.read())
    secret = os.urandom(32)
    started = time.monotonic()
    seen = watch(*start(order, secret, prctl), order, secret)
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


def start(order: dict[str, Any], secret: bytes, prctl: Callable[..., int]) -> tuple[int, int, int]:
    log, log_end = os.pipe()
    report, report_end = os.pipe()
    child = os.fork()
    if child:
        os.close(log_end)
        os.close(report_end)
        return child, log, report
    try:
        prctl(_SET_DUMPABLE, 1, 0, 0, 0)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for end, number in ((nothing, 0), (log_end, 1), (log_end, 2)):
            os.dup2(end, number)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        # Its own number for the report, far from those that tests count on.
        os.dup2(report_end, 900, inheritable=False)
        os.closerange(3, 900)
        os.chdir(order["root"])
        os.environ.update(order["env"])
        if "command" in order:
            os.close(900)
            os.execvp(order["command"][0], order["command"])
        run_pytest(order, secret, 900)
    finally:
        os._exit(70)


def run_pytest(order: dict[str, Any], secret: bytes, report: int) -> NoReturn:
    """Run pytest in this process and pass its JUnit XML on; never returns."""
    folder = f"/tmp/{os.urandom(8).hex()}"
    os.mkdir(folder, 0o700)
    junit, config = f"{folder}/report.xml", f"{folder}/{order['config_name']}"
    with open(config, "w") as file:
        file.write(order["config"])
    import unittest.case
    import xml.etree.ElementTree

    import pytest
    from _pytest import junitxml, runner

    # Tested code may replace what writes and reads the report.
    vars(junitxml)["open"] = open
    opened, write, leave, count = io.FileIO, os.write, os._exit, len
    # Tested code need not learn from its environment that tests run.
    vars(runner)["_update_current_test_var"] = lambda item, when: None
    sys.argv = ["python3"]
    root = order["root"]
    parts = (pytest, unittest.case, xml.etree.ElementTree)
    replaced = watch_parts(parts, root, order["tests"])
    tampered = watch_code(root, order["targets"], order["tests"])
    watching, failed = watch_reports(pytest, replaced, tampered)
    code = pytest.main(
        [
            *("-q", "--color=no", "--tb=line", "--runxfail", "--continue-on-collection-errors"),
            *("-p", "no:cacheprovider", "-o", "addopts=", "-o", "junit_family=xunit1"),
            *("-c", config, "--rootdir", root, "--confcutdir", root, f"--junitxml={junit}"),
            *("-o", "pythonpath=" + " ".join(f"'{path}'" for path in order["python_path"])),
            *(word for plugin in order["plugins"] for word in ("-p", plugin)),
            *order["targets"],
        ],
        plugins=[watching],
    )
    tampered += replaced(whole=True)
    text = opened(junit).read(REPORT_BYTES) or b""
    # Methods of built-in types, which tested code cannot replace.
    said = " ".join(tampered[:1]).encode("utf-8", "replace").replace(b"\n", b" ")
    left = b"%b%d %b\n%b%b" % (secret, count(failed), said, text, secret)
    while left:
        left = left[write(report, left) :]
    # Without the handlers that tested code may have registered.
    leave(code + 0)
    raise AssertionError("it has left")


def watch_code(root: str, targets: Sequence[str], tests: Sequence[str]) -> list[str]:
    """Note what of the tested code reads a test module, searches memory or listens to the run.

    Tests and pytest may.
    """
    hidden = {os.path.realpath(os.path.join(root, path)) for path in targets}
    own = tuple(os.path.join(root, path) for path in tests)
    runner = sys.modules["_pytest"].__file__ or ""
    # A traceback or a warning quotes the lines of its frames.
    trusted = (os.path.dirname(runner) + "/", traceback.__file__, warnings.__file__, *own)
    searches = {
        *("gc.get_objects", "gc.get_referrers", "gc.get_referents"),
        *("sys.setprofile", "sys.settrace", "sys.addaudithook", "sys.monitoring.register_callback"),
    }
    found: list[str] = []
    real, fsdecode, below = os.path.realpath, os.fsdecode, root + "/"

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            if not isinstance(arguments[0], str | bytes):
                return
            if real(fsdecode(arguments[0])) not in hidden:
                return
        elif event not in searches:
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(trusted):
                return
            if name.startswith(below):
                break
            frame = frame.f_back
        # A thread of its own has no frame of anybody else.
        where = "a thread" if frame is None else frame.f_code.co_filename
        found.append(f"{where}: {'it reads a test' if event == 'open' else event}")

    sys.addaudithook(note)
    return found


def watch_parts(
    modules: Sequence[Any], root: str, tests: Sequence[str]
) -> Callable[..., list[str]]:
    """Return a function that names the parts of the test runner that were replaced since.

    Parts are functions and classes of pytest, its plug-in system and unittest. Tests and plug-ins
    of the environment, which lie beside pytest, may replace a function by one of their own.
    ``whole=True`` compares the code of every function, even if none was written.
    """
    places = [os.path.dirname(os.path.dirname(module.__file__)) for module in modules]
    own = tuple(f"{place}/" for place in [*places, *(os.path.join(root, path) for path in tests)])
    names = {module.__name__.partition(".")[0] for module in modules} | {"_pytest", "pluggy"}
    holders: list[Any] = [
        module for name, module in list(sys.modules.items()) if name.partition(".")[0] in names
    ]
    for module in tuple(holders):
        holders += [
            value
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__
        ]
    kinds = (FunctionType, staticmethod, classmethod, property, type, ModuleType)
    parts = []
    for holder in holders:
        kept = {name: value for name, value in vars(holder).items() if isinstance(value, kinds)}
        if kept:
            # With one name, an `itemgetter` returns no tuple.
            now = operator.itemgetter(*kept, next(iter(kept)))
            values = (*kept.values(), next(iter(kept.values())))
            parts.append((vars(holder), now, holder.__name__, tuple(kept), values))
    functions = {
        id(one): one
        for *_, values in parts
        for one in (getattr(value, "__func__", value) for value in values)
        if isinstance(one, FunctionType)
    }
    known = tuple(functions.values())
    codes = tuple(one.__code__ for one in known)
    # Most of a run nothing is replaced, and then no line of Python runs for each part.
    same, every, each, code_of = operator.is_, all, map, operator.attrgetter("__code__")
    field, kind_of, code_kind = getattr, type, CodeType

    written: list[object] = []
    files: dict[str, list[CodeType]] = {}
    begun = time.time()

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "object.__setattr__" and arguments[1] == "__code__":
            written.append(arguments[0])

    sys.addaudithook(note)

    def is_foreign(value: object) -> bool:
        code: Any = field(field(value, "__func__", value), "__code__", None)
        # Any object may have such attributes, and equal everything.
        if kind_of(code) is not code_kind or not code.co_filename.startswith(own):
            return True
        path = code.co_filename
        # A name is easily forged: the code must be that of the file.
        if path not in files:
            files[path] = codes_of(path, begun)
        return code not in files[path]

    def replaced(whole: bool = False) -> list[str]:
        found = []
        for held, now, holder, names, values in parts:
            try:
                if every(each(same, now(held), values)):
                    continue
            except KeyError:
                pass
            for name, value in zip(names, values, strict=False):
                if held.get(name) is not value and is_foreign(held.get(name)):
                    found.append(f"{holder}.{name} was replaced")
        # The interpreter tells of each code that is written, so comparing them all can wait.
        if (written or whole) and not every(each(same, each(code_of, known), codes)):
            found += [
                f"the code of {code.co_name} was replaced"
                for one, code in zip(known, codes, strict=True)
                if one.__code__ is not code and is_foreign(one)
            ]
        return found

    return replaced


def codes_of(
    path: str,
    until: float,
    opened: Any = io.FileIO,
    looked: Any = os.fstat,
    compiled: Any = compile,
    kind: type = CodeType,
) -> list[CodeType]:
    """Return the code of a source file and of every function in it.

    The result is empty if the file has no code, or was changed after the time `until`.
    """
    try:
        with opened(path) as file:
            if looked(file.fileno()).st_ctime > until:
                return []
            left = [compiled(file.read(), path, "exec", dont_inherit=True)]
    except (OSError, ValueError, SyntaxError):
        return []
    codes = []
    while left:
        codes.append(left.pop())
        left += [one for one in codes[-1].co_consts if type(one) is kind]
    return codes


def watch_reports(
    pytest: Any, replaced: Callable[[], list[str]], found: list[str]
) -> tuple[object, set[str]]:
    """Return a plug-in that watches how reports are made, and the tests that it saw not pass.

    It looks for replaced parts before the report of a test is made. What was raised may run code
    while that is done, so its report must not tell of a pass.
    """
    failed: set[str] = set()

    class Watch:
        @pytest.hookimpl(wrapper=True, tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, object]:
            if call.when == "call":
                found.extend(replaced())
            raised = call.excinfo is not None
            report = yield
            if report.outcome != "passed":
                failed.add(item.nodeid)
            elif raised:
                found.append(f"{item.nodeid}: what failed is reported as passed")
            return report

    return Watch(), failed


def watch(
    child: int, log: int, report: int, order: dict[str, Any], secret: bytes
) -> dict[str, Any]:
    """Collect output and report until the child ends or its time is over."""
    begun, limit = time.monotonic(), order["timeout_s"]
    until = begun + limit
    kept = {log: bytearray(), report: bytearray()}
    most = {log: order["log_bytes"], report: REPORT_BYTES + 64}
    process = os.pidfd_open(child)
    omitted, waiting = 0, [process, log, report]
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
                omitted += surplus
                del kept[end][:surplus]
        if left <= 0 and (not ready or status is None or time.monotonic() > until + 1):
            break
    os.close(process)
    text = bytes(kept[report])
    valid = text.startswith(secret) and text.endswith(secret) and len(text) >= 64
    told, _, report_text = text[32:-32].partition(b"\n") if valid else (b"0 ", b"", b"")
    failed, _, tampered = told.partition(b" ")
    return {
        "exit_code": status,
        "timed_out": status is None,
        "failed": int(failed),
        "tampered": tampered.decode("utf-8", "replace"),
        "report": report_text,
        "log": bytes(kept[log]),
        "omitted_bytes": omitted,
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
    packed = {key: zlib.compress(seen.pop(key)) for key in ("report", "log")}
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


if __name__ == "__main__":
    main()
