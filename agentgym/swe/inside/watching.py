"""Watches tests in their own process, and tells the runner at once what it sees.

What is told lies in a pipe, whose other end is out of reach of the tested code: code that takes
hold of this process later cannot take it back. It can say more, but only to its harm.

A line is a letter and a text: ``P`` a test that passed and ``F`` one that did not, by the file that
defines it, a tab and its node id; ``M`` why the tested code is said to meddle with the tests.

The module is sent with `run_tests`, and imports what pytest imports anyway.
"""

import functools
import io
import linecache
import operator
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeAlias

SEAL = "agentgym.seal"
_SEARCHES = {"gc.get_objects", "gc.get_referrers", "gc.get_referents"}
_LISTENERS = {"sys.addaudithook", "sys.monitoring.register_callback"}
_TRACING = {"sys.setprofile", "sys.settrace"}
_LINE_BYTES = 65_536
_MOVES = {"os.link", "os.rename"}
_FOREIGN_CALLS = {"fopen", "mmap", "open", "open64", "openat", "ptrace", "syscall"}

Tell: TypeAlias = Callable[[bytes, str], None]


def teller(end: int) -> Tell:
    """Return a function that writes a line into the pipe."""
    write = os.write

    def tell(letter: bytes, what: str) -> None:
        left = letter + what.encode("utf-8", "replace").replace(b"\n", b" ")[:_LINE_BYTES] + b"\n"
        while left:
            left = left[write(end, left) :]

    return tell


def seal_with(secret: bytes, end: int, most_bytes: int) -> None:
    """Send a file between two secrets when the caller says ``sys.audit(SEAL, path)``.

    The secret is in no frame below which tests run.
    """
    asking = sys._getframe(1)
    opened, write, frame_at = io.FileIO, os.write, sys._getframe

    def send(event: str, arguments: tuple[Any, ...]) -> None:
        if event == SEAL and frame_at(1) is asking:
            left = secret + (opened(arguments[0]).read(most_bytes) or b"") + secret
            while left:
                left = left[write(end, left) :]

    sys.addaudithook(send)


class Places:
    """Tells tested code from that of the tests, by its files.

    Args:
        root: The repository.
        targets: Test modules, relative to it.
        tests: Folders of tests, relative to it.
    """

    def __init__(self, root: str, targets: Sequence[str], tests: Sequence[str]) -> None:
        self.hidden = {os.path.realpath(os.path.join(root, path)) for path in targets}
        self.tests = (*(os.path.join(root, path, "") for path in tests), *self.hidden)
        self._below = os.path.join(root, "")

    def is_tested(self, name: str) -> bool:
        """Return whether a file belongs to the tested code."""
        return name.startswith(self._below) and not name.startswith(self.tests)

    def is_test(self, name: str) -> bool:
        """Return whether a file belongs to the tests."""
        return name.startswith(self.tests)

    def knows(self, name: str) -> bool:
        """Return whether a file belongs to the tested code or to the tests."""
        return self.is_test(name) or name.startswith(self._below)


def watch_code(places: Places, tell: Tell) -> Callable[[], None]:
    """Tell what tested code reads a test module, searches memory or listens to the run.

    Returns:
        A function that looks at the trace and profile functions, to be called after each test.
    """
    hidden, names = places.hidden, {os.path.basename(path) for path in places.hidden}
    real, fsdecode, lexists, base = os.path.realpath, os.fsdecode, os.path.lexists, os.path.basename
    frame_at, tracer, profiler = sys._getframe, sys.gettrace, sys.getprofile
    main = _outermost(frame_at(0))
    for path in hidden:
        # A traceback quotes lines of tests; it need not open them.
        linecache.cache[path] = (0, None, [], path)

    def concerns_a_test(event: str, path: Any) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        name = fsdecode(path)
        if event in _MOVES:
            whole = real(name)
            return any(f"{one}/".startswith(f"{whole}/") for one in hidden)
        # The folder of a relative name may be that of a descriptor.
        return real(name) in hidden or (base(name) in names and not lexists(name))

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" or event in _MOVES:
            if not concerns_a_test(event, arguments[0]):
                return
            what = "it reads a test"
        elif event == "object.__setattr__":
            if arguments[1] != "__code__" or not places.is_test(file_of(arguments[0])):
                return
            what = "the code of a test is replaced"
        elif event in _TRACING:
            now = tracer() if event == "sys.settrace" else profiler()
            # A new one is looked at after the test. One of a profiler is no function.
            if not places.knows(file_of(now)):
                return
            what = event
        elif event == "ctypes.dlsym":
            if arguments[1] not in _FOREIGN_CALLS and not str(arguments[1]).startswith("PyFrame"):
                return
            what = f"ctypes: {arguments[1]}"
        elif event in _SEARCHES or event in _LISTENERS:
            what = event
        else:
            return
        frames = [one.f_code.co_filename for one in _stack(frame_at(1))]
        if what in _TRACING:
            # A test's own trace function may run below tested code.
            frames = [name for name in frames if places.knows(name)][:1]
        elif _outermost(frame_at(1)) is not main and not any(map(places.is_test, frames)):
            # A thread of its own has no frame of anybody else.
            tell(b"M", f"a thread: {what}")
            return
        for name in frames:
            if places.is_tested(name):
                tell(b"M", f"{name}: {what}")
                return

    def look() -> None:
        for what, now in (("sys.settrace", tracer()), ("sys.setprofile", profiler())):
            if places.is_tested(file_of(now)):
                tell(b"M", f"{file_of(now)}: {what}")

    sys.addaudithook(note)
    return look


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _outermost(frame: FrameType) -> FrameType:
    *_, last = _stack(frame)
    return last


def file_of(value: object) -> str:
    """Return the file that a function says it comes from; empty if it is no function."""
    if isinstance(value, functools.partial):
        value = value.func
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    return code.co_filename if type(code) is CodeType else ""


def watch_parts(modules: Sequence[Any], places: Places) -> Callable[..., list[str]]:
    """Return a function that names the parts of the test runner that were replaced since.

    Parts are functions and classes of these modules' packages. Tests, and plug-ins beside pytest,
    may replace a function by one of their own. Builtin functions and regular expressions may be
    replaced by anything but tested code. ``whole=True`` compares the code of every function, even
    if none was written.
    """
    standard = os.path.dirname(os.__file__)
    own = tuple(
        f"{folder if folder.startswith(f'{standard}/') else os.path.dirname(folder)}/"
        for folder in (os.path.dirname(module.__file__) for module in modules)
    )
    own += places.tests
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
    parts = [*_parts(holders), *_parts([sys.modules["builtins"], sys.modules["re"]])]
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
    written: list[object] = []
    sources = Sources()

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "object.__setattr__" and arguments[1] == "__code__":
            written.append(arguments[0])

    sys.addaudithook(note)

    def is_foreign(value: object, lenient: bool) -> bool:
        if lenient:
            return places.is_tested(file_of(value))
        return not sources.holds(value, own)

    def replaced(whole: bool = False) -> list[str]:
        found = []
        for held, now, holder, keys, values in parts:
            try:
                if every(each(same, now(held), values)):
                    continue
            except KeyError:
                pass
            lenient = holder in ("builtins", "re")
            for name, value in zip(keys, values, strict=False):
                if held.get(name) is not value and is_foreign(held.get(name), lenient):
                    found.append(f"{holder}.{name} was replaced")
        # The interpreter tells of each code that is written, so comparing them all can wait.
        if (written or whole) and not every(each(same, each(code_of, known), codes)):
            found += [
                f"the code of {code.co_name} was replaced"
                for one, code in zip(known, codes, strict=True)
                if one.__code__ is not code and is_foreign(one, False)
            ]
        return found

    return replaced


def _parts(holders: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield dict, getter, name, names and values of the parts of each module and class."""
    kinds = (FunctionType, staticmethod, classmethod, property, type, ModuleType)
    for holder in holders:
        wanted = kinds if holder.__name__ != "builtins" else (BuiltinFunctionType, type)
        kept = {name: value for name, value in vars(holder).items() if isinstance(value, wanted)}
        if kept:
            # With one name, an `itemgetter` returns no tuple.
            now = operator.itemgetter(*kept, next(iter(kept)))
            values = (*kept.values(), next(iter(kept.values())))
            yield vars(holder), now, holder.__name__, tuple(kept), values


class Sources:
    """Compares functions with the files from which they say they come."""

    def __init__(self) -> None:
        self._files: dict[str, list[CodeType]] = {}
        self._begun = time.time()
        # Tested code may replace them.
        self._opened, self._looked, self._compiled = io.FileIO, os.fstat, compile
        self._kind_of, self._field, self._kinds = type, getattr, (FunctionType, CodeType)

    def holds(self, value: object, places: tuple[str, ...], depth: int = 0) -> bool:
        """Return whether a function, and those in its closure and defaults, is from one of places.

        A name is easily forged: the code must be that of the file, as it was before the run.
        """
        function = self._field(value, "__func__", value)
        code: Any = self._field(function, "__code__", None)
        # Any object may have such attributes, and equal everything.
        if self._kind_of(code) is not self._kinds[1] or depth > 4:
            return False
        path = code.co_filename
        if not path.startswith(places):
            return False
        if path not in self._files:
            self._files[path] = self._codes_of(path)
        if code not in self._files[path]:
            return False
        return all(self.holds(one, places, depth + 1) for one in _callables(function))

    def _codes_of(self, path: str) -> list[CodeType]:
        try:
            with self._opened(path) as file:
                if self._looked(file.fileno()).st_ctime > self._begun:
                    return []
                left = [self._compiled(file.read(), path, "exec", dont_inherit=True)]
        except (OSError, ValueError, SyntaxError):
            return []
        codes = []
        while left:
            codes.append(left.pop())
            left += [one for one in codes[-1].co_consts if self._kind_of(one) is self._kinds[1]]
        return codes


def _callables(function: Any) -> Iterator[object]:
    """Yield what a function may call by its closure and defaults."""
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:
            continue
    # Builtin types and values cannot lead to tested code.
    for one in held:
        if callable(one) and not isinstance(one, type | BuiltinFunctionType):
            yield one


def watch_reports(
    pytest: Any,
    replaced: Callable[..., list[str]],
    look: Callable[[], None],
    places: Places,
    tell: Tell,
) -> object:
    """Return a plug-in that tells which tests passed, and what of the runner was replaced.

    It looks for replaced parts before the report of a test is made. What was raised may run code
    while that is done, so its report must not tell of a pass.
    """
    code_of = operator.attrgetter("__code__")
    codes: dict[str, CodeType] = {}
    hooks: dict[int, tuple[Any, Any]] = {}
    manager: Any = None

    def function_of(item: Any) -> Any:
        one = getattr(item, "obj", None)
        return getattr(one, "__func__", one)

    def implementations() -> Iterator[Any]:
        for name, caller in vars(manager.hook).items():
            if not name.startswith("_"):
                yield from caller.get_hookimpls()

    def look_at_hooks() -> None:
        for one in implementations():
            known = hooks.get(id(one))
            if known is None:
                # A conftest of the tests comes with the first module of its folder.
                hooks[id(one)] = one, one.function
                if not places.is_tested(file_of(one.function)):
                    continue
            elif known[1] is one.function:
                continue
            tell(b"M", f"a hook of pytest was replaced: {one.plugin_name}")

    class Watch:
        @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_sessionstart(self, session: Any) -> None:
            nonlocal manager
            manager = session.config.pluginmanager
            look_at_hooks()

        @pytest.hookimpl(trylast=True)  # type: ignore[untyped-decorator]
        def pytest_collection_finish(self, session: Any) -> None:
            for item in session.items:
                if isinstance(function_of(item), FunctionType):
                    codes[item.nodeid] = code_of(function_of(item))

        @pytest.hookimpl(wrapper=True, tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, object]:
            if call.when == "call":
                look()
                look_at_hooks()
                for what in replaced():
                    tell(b"M", what)
                function, code = function_of(item), codes.get(item.nodeid)
                is_other = code is not None and code_of(function) is not code
                if is_other and places.is_tested(file_of(function)):
                    tell(b"M", f"{item.nodeid}: the test was replaced")
            raised = call.excinfo is not None
            report = yield
            place = f"{report.location[0]}\t{item.nodeid}"
            if report.outcome != "passed":
                tell(b"F", place)
            elif raised:
                tell(b"M", f"{item.nodeid}: what failed is reported as passed")
            elif call.when == "call":
                tell(b"P", place)
            return report

    return Watch()
