"""Watches tests in their own process, and tells the runner at once what it sees.

What is told lies in a pipe, whose other end is out of reach of the tested code: code that takes
hold of this process later cannot take it back. It can say more, but only to its harm.

A line is a letter and a text: ``P`` a test that passed and ``F`` one that did not, by the file that
defines it, a tab and its node id; ``M`` why the tested code is said to meddle with the tests.

The module is sent with `run_tests`, and imports what pytest imports anyway.
"""

import ast
import functools
import hashlib
import io
import linecache
import operator
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeAlias

SEAL = "agentgym.seal"
_RUNNER = {"_pytest", "pluggy", "pytest", "unittest"}
_SELDOM = (
    *("_pytest._io", "_pytest._py", "_pytest.cacheprovider", "_pytest.capture", "_pytest.config"),
    *("_pytest.debugging", "_pytest.doctest", "_pytest.faulthandler", "_pytest.helpconfig"),
    *("_pytest.legacypath", "_pytest.logging", "_pytest.main", "_pytest.mark", "_pytest.pastebin"),
    *("_pytest.pathlib", "_pytest.pytester", "_pytest.setuponly", "_pytest.setupplan"),
    *("_pytest.stepwise", "_pytest.terminal", "_pytest.timing", "_pytest.tmpdir"),
    *("_pytest.warning", "pluggy._tracing", "unittest.loader", "unittest.main", "unittest.runner"),
    *("unittest.signals", "unittest.suite", "unittest.util"),
)
"""Modules that take no part in running a test; they are compared at the end only."""
_REPLACEABLE = {"__import__", "input", "open", "print"}
_LIBRARY = ("builtins", "collections", "math", "operator", "re")
_SEARCHES = {"gc.get_objects", "gc.get_referrers", "gc.get_referents"}
_LISTENERS = {"sys.addaudithook", "sys.monitoring.register_callback"}
_OF_FUNCTIONS = {"__code__", "__defaults__", "__kwdefaults__"}
_TRACING = {"sys.setprofile", "sys.settrace"}
_LINE_BYTES = 1 << 20
_MOVES = {"os.link", "os.rename"}
_FOREIGN_CALLS = {"fopen", "mmap", "open", "open64", "openat", "ptrace", "syscall"}

Tell: TypeAlias = Callable[[bytes, str], None]
Handler: TypeAlias = Callable[[str, tuple[Any, ...]], None]
Listen: TypeAlias = Callable[[Iterable[str], Handler], None]


def listener() -> Listen:
    """Return a function that registers handlers of audit events; one audit hook serves all."""
    handlers: dict[str, list[Handler]] = {}
    handlers_of = handlers.get

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        for handler in handlers_of(event, ()):
            handler(event, arguments)

    def listen(events: Iterable[str], handler: Handler) -> None:
        for event in events:
            handlers.setdefault(event, []).append(handler)

    sys.addaudithook(hear)
    return listen


def teller(secret: bytes, end: int, most_bytes: int, listen: Listen) -> Tell:
    """Return a function that writes a line into the pipe.

    When the caller says ``sys.audit(SEAL, path)``, a file is sent between two secrets, below the
    digest of all lines. The secret is in no frame below which tests run.
    """
    asking = sys._getframe(1)
    opened, write, frame_at = io.FileIO, os.write, sys._getframe
    digest = hashlib.sha256()

    def tell(letter: bytes, what: str) -> None:
        left = letter + what.encode("utf-8", "replace").replace(b"\n", b" ")[:_LINE_BYTES] + b"\n"
        digest.update(left)
        while left:
            left = left[write(end, left) :]

    def send(event: str, arguments: tuple[Any, ...]) -> None:
        # Its caller is `hear`.
        if frame_at(2) is asking:
            text = opened(arguments[0]).read(most_bytes) or b""
            left = secret + digest.digest() + text + secret
            while left:
                left = left[write(end, left) :]

    listen([SEAL], send)
    return tell


class Places:
    """Tells the code of a patch from all other code, by its files.

    Args:
        root: The repository.
        targets: Test modules, relative to it.
        changed: Files of the patch, relative to it.
    """

    def __init__(self, root: str, targets: Sequence[str], changed: Sequence[str]) -> None:
        self.hidden = {os.path.join(root, path) for path in targets}
        self._changed = {os.path.join(root, path) for path in changed}
        self._below = os.path.join(root, "")
        self._begun, self._looked = time.time(), os.stat
        self._old: dict[str, bool] = {}

    def is_tested(self, name: str) -> bool:
        """Return whether a file of the repository is the patch's, or was written since."""
        if not name.startswith(self._below) or name in self.hidden:
            return False
        return name in self._changed or not self._is_old(name)

    def is_test(self, name: str) -> bool:
        """Return whether a file is a test module."""
        return name in self.hidden

    def knows(self, name: str) -> bool:
        """Return whether a file belongs to the repository."""
        return name.startswith(self._below)

    def _is_old(self, name: str) -> bool:
        if name not in self._old:
            try:
                self._old[name] = self._looked(name).st_ctime <= self._begun
            except (OSError, ValueError):
                # Code that was compiled under a name has no file.
                return False
        return self._old[name]


def watch_code(
    places: Places, runner: tuple[str, ...], tell: Tell, listen: Listen
) -> Callable[[], None]:
    """Tell which code of the patch reads a test module, searches memory or listens to the run.

    Returns:
        A function that looks at the trace and profile functions, to be called after each test.
    """
    names = {os.path.basename(path) for path in places.hidden}
    # Tests may mock the functions that the hook needs.
    looked, isinstance_of, text = os.stat, isinstance, (str, bytes)
    frame_at, tracer, profiler = sys._getframe, sys.gettrace, sys.getprofile
    main = _outermost(frame_at(0))
    files, folders = set(), set()
    for path in places.hidden:
        # A traceback quotes lines of tests; it need not open them.
        linecache.cache[path] = (0, None, [], path)
        files.add(_identity(looked(path)))
        while places.knows(path := os.path.dirname(path)):
            folders.add(_identity(looked(path)))

    def concerns_a_test(event: str, arguments: tuple[Any, ...]) -> bool:
        path = arguments[0]
        if not isinstance_of(path, text) or not path:
            return False
        try:
            found = _identity(looked(path))
        except (OSError, ValueError):
            name = path if isinstance_of(path, str) else path.decode("utf-8", "replace")
            makes = event == "open" and arguments[2] & os.O_CREAT
            # The folder of a relative name may be that of a descriptor.
            return not name.startswith("/") and not makes and name.rpartition("/")[2] in names
        return found in files or (event in _MOVES and found in folders)

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" or event in _MOVES:
            if not concerns_a_test(event, arguments):
                return
            what = "it reads a test"
        elif event == "object.__setattr__":
            if arguments[1] not in _OF_FUNCTIONS or not trusted(file_of(arguments[0])):
                return
            what = f"{arguments[1]} of a test or its runner"
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
        else:
            what = event
        # Its caller is `hear`.
        frames = [one.f_code.co_filename for one in _stack(frame_at(2))]
        if what in _TRACING or event == "object.__setattr__":
            # A test's own trace function may run below tested code, and so may an import.
            frames = [name for name in frames if places.knows(name) or trusted(name)][:1]
        elif _outermost(frame_at(2)) is not main and not any(map(places.is_test, frames)):
            # The stack of a thread does not show who started it.
            tell(b"M", f"a thread: {what}")
            return
        for name in frames:
            if places.is_tested(name):
                tell(b"M", f"{name}: {what}")
                return

    def trusted(name: str) -> bool:
        return places.is_test(name) or name.startswith(runner)

    def look() -> None:
        for what, now in (("sys.settrace", tracer()), ("sys.setprofile", profiler())):
            if places.is_tested(file_of(now)):
                tell(b"M", f"{file_of(now)}: {what}")

    listen(
        ["open", "object.__setattr__", "ctypes.dlsym", *_MOVES, *_TRACING, *_SEARCHES, *_LISTENERS],
        note,
    )
    return look


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _outermost(frame: FrameType) -> FrameType:
    *_, last = _stack(frame)
    return last


def file_of(value: object) -> str:
    """Return the file that a function says it comes from; empty if it is no function."""
    if isinstance(value, functools.partial):
        value = value.func
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    return code.co_filename if type(code) is CodeType else ""


def runner_folders(modules: Iterable[Any]) -> tuple[str, ...]:
    """Return the folders of modules of the runner; plug-ins lie beside those that are installed."""
    standard = os.path.dirname(os.__file__)
    return tuple(
        f"{folder if folder.startswith(f'{standard}/') else os.path.dirname(folder)}/"
        for folder in (os.path.dirname(module.__file__) for module in modules)
    )


def origin_of(value: object) -> str:
    """Return the file of a function, class or module; empty for anything else."""
    if isinstance(value, type):
        value = sys.modules.get(value.__module__)
    if isinstance(value, ModuleType):
        return str(getattr(value, "__file__", None) or "")
    return file_of(value)


def watch_parts(
    places: Places, runner: tuple[str, ...], listen: Listen
) -> Callable[..., list[str]]:
    """Return a function that names the parts of the test runner that were replaced since.

    Parts are functions and classes of pytest, pluggy and unittest. Tests, and plug-ins beside
    pytest, may replace a function by one of their own. Functions of the library may be replaced by
    anything but code of the patch. ``whole=True`` compares all parts and the code of every
    function, even if none was written, and looks at modules that were imported since.
    """
    begun = set(sys.modules)
    library = [sys.modules[name] for name in _LIBRARY]
    seldom: list[Any] = []
    often: list[Any] = []
    for holder in _holders(sys.modules):
        name = holder.__module__ if isinstance(holder, type) else holder.__name__
        (seldom if name.startswith(_SELDOM) else often).append(holder)
    parts = list(_parts([*often, *library]))
    rest = list(_parts(seldom))
    functions = {
        id(one): one
        for *_, values in (*parts, *rest)
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
        if arguments[1] == "__code__":
            written.append(arguments[0])

    listen(["object.__setattr__"], note)

    def accepts(path: str) -> bool:
        return path.startswith(runner) or (places.knows(path) and not places.is_tested(path))

    def is_foreign(value: object, was: object, lenient: bool) -> bool:
        if lenient:
            # The caches of `re` are plain dictionaries.
            is_other = type(was) is dict and type(value) is not dict
            return is_other or places.is_tested(origin_of(value))
        return not sources.holds(value, accepts)

    def replaced(whole: bool = False) -> list[str]:
        found = []
        if whole:
            late = {name: one for name, one in sys.modules.items() if name not in begun}
            found += [
                f"{holder.__name__}.{name} was replaced"
                for holder in _holders(late)
                for name, value in vars(holder).items()
                if places.is_tested(file_of(value))
            ]
        for held, now, holder, keys, values in (*parts, *rest) if whole else parts:
            try:
                if every(each(same, now(held), values)):
                    continue
            except KeyError:
                pass
            lenient = holder in _LIBRARY
            for name, value in zip(keys, values, strict=False):
                if held.get(name) is not value and is_foreign(held.get(name), value, lenient):
                    found.append(f"{holder}.{name} was replaced")
        # The interpreter tells of each code that is written, so comparing them all can wait.
        if (written or whole) and not every(each(same, each(code_of, known), codes)):
            found += [
                f"the code of {code.co_name} was replaced"
                for one, code in zip(known, codes, strict=True)
                if one.__code__ is not code and is_foreign(one, None, False)
            ]
        return found

    return replaced


def _holders(modules: Mapping[str, Any]) -> list[Any]:
    """Return the modules of the runner, and the classes that they define."""
    found = [one for name, one in list(modules.items()) if name.partition(".")[0] in _RUNNER]
    for module in tuple(found):
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__
        ]
    return found


def _parts(holders: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield dict, getter, name, names and values of the parts of each module and class."""
    kinds = (FunctionType, staticmethod, classmethod, property, type, ModuleType)
    for holder in holders:
        wanted = (*kinds, BuiltinFunctionType, dict) if holder.__name__ in _LIBRARY else kinds
        kept = {
            name: value
            for name, value in vars(holder).items()
            if isinstance(value, wanted)
            and name not in _REPLACEABLE
            # Tests replace classes of other modules, such as `datetime`.
            and (
                not isinstance(value, type)
                or value.__module__.partition(".")[0] in (*_RUNNER, *_LIBRARY)
            )
        }
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
        self._kind_of, self._field, self._code_kind = type, getattr, CodeType

    def holds(self, value: object, accepts: Callable[[str], bool], depth: int = 0) -> bool:
        """Return whether a function, and those in its closure and defaults, are of accepted files.

        A name is easily forged: the code must be that of the file, as it was before the run.
        """
        function = self._field(value, "__func__", value)
        code: Any = self._field(function, "__code__", None)
        # Any object may have such attributes, and equal everything.
        if self._kind_of(code) is not self._code_kind or depth > 4:
            return False
        path = code.co_filename
        if not accepts(path):
            return False
        if path not in self._files:
            self._files[path] = self._codes_of(path)
        if code not in self._files[path]:
            return False
        return all(self.holds(one, accepts, depth + 1) for one in _callables(function))

    def _codes_of(self, path: str) -> list[CodeType]:
        try:
            with self._opened(path) as file:
                if self._looked(file.fileno()).st_ctime > self._begun:
                    return []
                whole: CodeType = self._compiled(file.read(), path, "exec", dont_inherit=True)
        except (OSError, ValueError, SyntaxError):
            return []
        return codes_in(whole)


def _may_wrap(item: Any) -> bool:
    """Return whether a test may be code of the package: inherited, or wrapped by its decorator."""
    name = getattr(item, "originalname", None) or item.name
    with io.FileIO(str(item.path if hasattr(item, "path") else item.fspath)) as file:
        tree = ast.parse(file.read())
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    roots = {
        ast.unparse(one).partition(".")[0].partition("(")[0]
        for node in found
        for one in node.decorator_list
    }
    return not found or bool(roots - {"mock", "patch", "pytest", "unittest"})


def codes_in(*codes: CodeType, kind: type = CodeType) -> list[CodeType]:
    """Return codes with those of all functions and classes in them."""
    left, found = list(codes), []
    while left:
        found.append(left.pop())
        inner: tuple[Any, ...] = found[-1].co_consts
        left += (one for one in inner if type(one) is kind)  # type: ignore[misc]
    return found


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
    escape: Callable[[object], str],
    replaced: Callable[..., list[str]],
    look: Callable[[], None],
    places: Places,
    tell: Tell,
    listen: Listen,
) -> object:
    """Return a plug-in that tells which tests passed, and what of the runner was replaced.

    It looks for replaced parts before the report of a test is made. What was raised may run code
    while that is done, so its report must not tell of a pass.
    """
    code_of = operator.attrgetter("__code__")
    codes: dict[str, CodeType] = {}
    hooks: dict[int, tuple[Any, Any, Any]] = {}
    written: list[CodeType] = []
    named: dict[str, str] = {}
    modules: dict[int, dict[str, Any]] = {}
    real = {name: sys.modules[name] for name in ("math", "pytest", "re", "unittest")}
    manager: Any = None

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if type(arguments[0]) is CodeType and places.is_test(arguments[0].co_filename):
            written.extend(codes_in(arguments[0]))

    listen(["exec"], note)

    def function_of(item: Any) -> Any:
        one = getattr(item, "obj", None)
        return getattr(one, "__func__", one)

    def implementations() -> Iterator[Any]:
        for name, caller in vars(manager.hook).items():
            if not name.startswith("_"):
                yield from caller.get_hookimpls()

    def look_at_hooks(may_be_of_patch: bool = False) -> None:
        for one in implementations():
            known = hooks.get(id(one))
            if known is None:
                # A conftest of the tests comes with the first module of its folder.
                hooks[id(one)] = one, one.function, getattr(one.function, "__code__", None)
                if may_be_of_patch or not places.is_tested(file_of(one.function)):
                    continue
            elif known[1:] == (one.function, getattr(one.function, "__code__", None)):
                continue
            tell(b"M", f"a hook of pytest was replaced: {one.plugin_name}")

    def look_at_names() -> None:
        for held in modules.values():
            for name, module in real.items():
                now = held.get(name, module)
                if now is not module and (
                    type(now) is not ModuleType or places.is_tested(origin_of(now))
                ):
                    tell(b"M", f"{name} of a test module was replaced")

    class Watch:
        @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_sessionstart(self, session: Any) -> None:
            nonlocal manager
            manager = session.config.pluginmanager
            look_at_hooks(may_be_of_patch=True)

        @pytest.hookimpl(trylast=True)  # type: ignore[untyped-decorator]
        def pytest_collection_finish(self, session: Any) -> None:
            known = set(map(id, written))
            for item in session.items:
                # While a test runs, it may have replaced what this needs.
                named[item.nodeid] = escape(f"{item.location[0]}\t{item.nodeid}")
                if module := getattr(item, "module", None):
                    modules[id(module)] = vars(module)
                function = function_of(item)
                if isinstance(function, FunctionType):
                    code = codes[item.nodeid] = code_of(function)
                    is_forged = places.is_test(code.co_filename) and id(code) not in known
                    is_tested = places.is_tested(code.co_filename)
                    if is_forged or (is_tested and not _may_wrap(item)):
                        tell(b"M", f"{item.nodeid}: the test was replaced")

        @pytest.hookimpl(wrapper=True, tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, object]:
            if call.when == "call":
                look()
                look_at_hooks()
                look_at_names()
                for what in replaced():
                    tell(b"M", what)
                function, code = function_of(item), codes.get(item.nodeid)
                is_other = code is not None and code_of(function) is not code
                if is_other and places.is_tested(file_of(function)):
                    tell(b"M", f"{item.nodeid}: the test was replaced")
            raised = call.excinfo is not None
            report = yield
            place = named.get(item.nodeid) or escape(f"{report.location[0]}\t{item.nodeid}")
            if report.outcome != "passed":
                tell(b"F", place)
            elif raised:
                tell(b"M", f"{item.nodeid}: what failed is reported as passed")
            elif call.when == "call":
                tell(b"P", place)
            return report

    return Watch()
