"""Watches tests in their own process: which passed, and whether the tested code meddles with them.

These modules are sent with `run_tests`, and import what pytest imports anyway.
"""

import contextlib
import io
import linecache
import operator
import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType
from typing import Any

from agentgym.swe.inside.places import Places, file_of, unwrapped
from agentgym.swe.inside.sources import Sources, codes_of_functions
from agentgym.swe.inside.telling import Listen, Tell

_SEARCHES = {"gc.get_objects", "gc.get_referrers", "gc.get_referents"}
_LISTENERS = {"sys.addaudithook", "sys.monitoring.register_callback"}
_OF_FUNCTIONS = {"__code__", "__defaults__", "__kwdefaults__"}
_TRACING = {"sys.setprofile", "sys.settrace"}
_MOVES = {"os.link", "os.rename"}
_KINDS = (FunctionType, BuiltinFunctionType, type)
_ONLY_AST = 0x400
_FOREIGN_CALLS = {"fopen", "mmap", "open", "open64", "openat", "ptrace", "syscall"}


def watch_reports(
    pytest: Any,
    escape: Callable[[object], str],
    replaced: Callable[..., list[str]],
    look: Callable[[], None],
    places: Places,
    sources: Sources,
    plugins: Sequence[str],
    own: Sequence[object],
    tell: Tell,
) -> object:
    """Return a plug-in that tells which tests passed, and what of the runner was replaced.

    ``plugins`` are the names of the installed plug-ins to load, ``own`` the runner's other ones.

    It looks for replaced parts before the report of a test is made. What was raised may run code
    while that is done, so its report must not tell of a pass.
    """
    code_of = operator.attrgetter("__code__")
    codes: dict[str, CodeType] = {}
    hooks: dict[int, tuple[Any, Any, Any]] = {}
    named: dict[str, str] = {}
    modules: dict[int, dict[str, Any]] = {}
    elsewhere: dict[tuple[int, str], object] = {}
    own_hooks = [each for one in own for each in vars(type(one)).values()]
    held: list[tuple[Any, str, object]] = []
    classes: list[type] = []
    real = {name: sys.modules[name] for name in ("math", "pytest", "re", "unittest")}
    manager: Any = None

    def function_of(item: Any) -> Any:
        return unwrapped(getattr(item, "obj", None))

    def implementations() -> Iterator[Any]:
        for name, caller in vars(manager.hook).items():
            if not name.startswith("_"):
                yield from caller.get_hookimpls()

    def is_expected(one: Any) -> bool:
        """Return whether a hook at the start is the runner's, a named plug-in's or a conftest's."""
        if any(unwrapped(one.function) is each for each in own_hooks):
            return True
        name, file = str(one.plugin_name), file_of(one.function)
        is_conftest = name == file and os.path.basename(file) == "conftest.py"
        return name in plugins or (is_conftest and sources.has(one.function.__code__))

    def look_at_hooks(at_start: bool = False) -> None:
        for one in implementations():
            known = hooks.get(id(one))
            if known is None:
                # A conftest of the tests comes with the first module of its folder.
                hooks[id(one)] = one, one.function, getattr(one.function, "__code__", None)
                if at_start and is_expected(one):
                    continue
                if sources.holds(one.function, places.is_other, lenient=True):
                    continue
            elif known[1:] == (one.function, getattr(one.function, "__code__", None)):
                continue
            tell(b"M", f"a hook of pytest was replaced: {one.plugin_name}")

    def look_at_names() -> None:
        for key, names in modules.items():
            for name, module in real.items():
                now = names.get(name, module)
                if now is not elsewhere.get((key, name), module):
                    tell(b"M", f"{name} of a test module was replaced")
        for holder, name, was in held:
            now = vars(holder).get(name)
            is_new = now is not was and callable(now)
            if is_new and not sources.holds(now, places.is_other, lenient=True):
                tell(b"M", f"{name} of a test module was replaced")
        for kind in classes:
            for name, now in vars(kind).items():
                if name.startswith("assert") and places.is_tested(file_of(now)):
                    tell(b"M", f"{name} of a test class was replaced")

    def keep(holder: Any) -> None:
        for name, value in vars(holder).items():
            if isinstance(value, _KINDS):
                held.append((holder, name, value))

    def is_of_module(function: FunctionType) -> bool:
        code, names = function.__code__, function.__globals__
        is_test = places.is_test(code.co_filename) and sources.has(code)
        return is_test and any(names is known for known in modules.values())

    def is_made_of_test(function: FunctionType) -> bool:
        code = function.__code__
        is_sound = sources.holds(function, places.is_other, lenient=True)
        return is_sound and places.is_test(code.co_filename)

    def is_replaced(item: Any) -> bool:
        function = function_of(item)
        if function is None:
            return False
        if not isinstance(function, FunctionType):
            return not _may_wrap(item)
        says_test = places.is_test(function.__code__.co_filename)
        inner = getattr(vars(function).get("hypothesis"), "inner_test", None)
        if isinstance(inner, FunctionType) and is_made_of_test(function):
            # What a test of Hypothesis runs is an attribute, which any code may set.
            function = inner
        if is_of_module(function):
            return False
        is_sound = sources.holds(function, places.is_other, lenient=True)
        if is_sound and _leads_to(is_of_module, function):
            return False
        return says_test or not _may_wrap(item)

    def look_at_test(item: Any) -> None:
        function, code = function_of(item), codes.get(item.nodeid)
        is_other = code is not None and getattr(function, "__code__", None) is not code
        if (is_other or hasattr(function, "hypothesis")) and is_replaced(item):
            tell(b"M", f"{item.nodeid}: the test was replaced")

    class Watch:
        @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_sessionstart(self, session: Any) -> None:
            nonlocal manager
            manager = session.config.pluginmanager
            look_at_hooks(at_start=True)

        @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_runtest_call(self, item: Any) -> None:
            look_at_test(item)

        @pytest.hookimpl(trylast=True)  # type: ignore[untyped-decorator]
        def pytest_collection_finish(self, session: Any) -> None:
            for item in session.items:
                # While a test runs, it may have replaced what this needs.
                named[item.nodeid] = escape(f"{item.location[0]}\t{item.nodeid}")
                module = getattr(item, "module", None)
                if module is not None and id(module) not in modules:
                    modules[id(module)] = vars(module)
                    for name, known in real.items():
                        now = vars(module).get(name, known)
                        if now is not known and _takes_elsewhere(_path_of(item), name):
                            elsewhere[id(module), name] = now
                    keep(module)
                    for one in tuple(vars(module).values()):
                        if isinstance(one, type) and one.__module__ == module.__name__:
                            classes.append(one)
                            keep(one)
            for item in session.items:
                function = function_of(item)
                if isinstance(function, FunctionType):
                    codes[item.nodeid] = code_of(function)
                if is_replaced(item):
                    tell(b"M", f"{item.nodeid}: the test was replaced")

        # The older form of a wrapper; pytest of before 2023 knows no other.
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
            if call.when == "call":
                look()
                look_at_hooks()
                look_at_names()
                for what in replaced():
                    tell(b"M", what)
                look_at_test(item)
            raised = call.excinfo is not None
            report = (yield).get_result()
            place = named.get(item.nodeid) or escape(f"{report.location[0]}\t{item.nodeid}")
            if report.outcome != "passed":
                tell(b"F", place)
            elif raised:
                tell(b"M", f"{item.nodeid}: what failed is reported as passed")
            elif call.when == "call":
                tell(b"P", place)

    own_hooks += vars(Watch).values()
    return Watch()


def watch_code(
    places: Places, sources: Sources, runner: tuple[str, ...], tell: Tell, listen: Listen
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
    sources.learn(one.f_code for one in _stack(frame_at(0)))
    sources.learn(codes_of_functions(globals().values()))
    for name in ("_frozen_importlib", "_frozen_importlib_external"):
        for one in tuple(vars(sys.modules[name]).values()):
            members = vars(one).values() if isinstance(one, type) else (one,)
            sources.learn(codes_of_functions(map(unwrapped, members)))
    files: dict[tuple[int, int], str] = {}
    folders = set()
    for path in places.hidden:
        # A traceback quotes lines of tests; it need not open them.
        linecache.cache[path] = (0, None, [], path)
        files[_identity(looked(path))] = path
        while places.knows(path := os.path.dirname(path)):
            folders.add(_identity(looked(path)))

    def concerned(event: str, arguments: tuple[Any, ...]) -> str:
        """Return the test module or folder that something is done to, or an empty text."""
        path = arguments[0]
        if not isinstance_of(path, text) or not path:
            return ""
        try:
            found = _identity(looked(path))
        except (OSError, ValueError):
            name = path if isinstance_of(path, str) else path.decode("utf-8", "replace")
            makes = event == "open" and arguments[2] & os.O_CREAT
            # The folder of a relative name may be that of a descriptor.
            is_test = not name.startswith("/") and not makes and name.rpartition("/")[2] in names
            return name if is_test else ""
        return files.get(found, "") or ("a folder" if event in _MOVES and found in folders else "")

    def learn_given(event: str, arguments: tuple[Any, ...]) -> None:
        """Take code that Hypothesis makes for the `@given` of a test for code of Hypothesis.

        The text that it compiles is made of the test's signature. Any other function that compiles
        texts would compile those of the tested code, which may have it called from anywhere.
        """
        if event == "exec":
            made = arguments[0]
        elif arguments[1] == "__code__":
            made = arguments[2]
        else:
            return
        # Its caller is `hear`.
        stack = _stack(frame_at(2))
        names = []
        for frame in stack:
            code = frame.f_code
            if not sources.has(code) or _outermost(frame) is not main:
                return
            if places.is_test(code.co_filename):
                break
            if places.knows(code.co_filename) or "/hypothesis/" not in code.co_filename:
                return
            names.append(code.co_name)
        if "run_test_as_given" in names and type(made) is CodeType:
            sources.learn([made])

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        module = ""
        if event == "open" or event in _MOVES:
            module = concerned(event, arguments)
            if not module:
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
        codes = [one.f_code for one in _stack(frame_at(2))]
        if event == "open" or event in _MOVES or event == "object.__setattr__":
            for code in codes:
                if not sources.has(code):
                    tell(b"M", f"{what}, by code that is not in {code.co_filename}")
                    return
        if event == "open" and any(names_its_file(code, module) for code in codes):
            return
        frames = [code.co_filename for code in codes]
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

    def names_its_file(code: CodeType, module: str) -> bool:
        """Return whether a function of a test module names `__file__`, so code may read it."""
        is_named = "__file__" in code.co_names and code.co_name != "<module>"
        return is_named and code.co_filename == module

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
    listen(["exec", "object.__setattr__"], learn_given)
    return look


def _may_wrap(item: Any) -> bool:
    """Return whether a test may be code of the package: inherited, or wrapped by its decorator."""
    name = getattr(item, "originalname", None) or item.name
    roots: set[str] = set()
    is_found = False
    for node in _nodes(_path_of(item)):
        if type(node).__name__ in ("FunctionDef", "AsyncFunctionDef") and node.name == name:
            is_found = True
            for one in node.decorator_list:
                while not hasattr(one, "id"):
                    one = getattr(one, "func", None) or getattr(one, "value", None)
                roots.add(one.id if one is not None else "")
    return not is_found or bool(roots - {"mock", "patch", "pytest", "unittest"})


def _takes_elsewhere(path: str, name: str) -> bool:
    """Return whether a test module gives a name to something else: ``from sympy import re``."""
    taken = imported = takes_all = False
    for node in _nodes(path):
        kind = type(node).__name__
        for one in node.names if kind in ("Import", "ImportFrom") else ():
            if kind == "ImportFrom" or one.asname:
                taken |= name == (one.asname or one.name)
                takes_all |= one.name == "*"
            else:
                imported |= name == one.name.partition(".")[0]
    return taken or (takes_all and not imported)


def _nodes(path: str) -> Iterator[Any]:
    """Yield the syntax nodes of a module."""
    with io.FileIO(path) as file:
        left: list[Any] = [compile(file.read(), path, "exec", _ONLY_AST, dont_inherit=True)]
    while left:
        node = left.pop()
        yield node
        for held in (getattr(node, field, None) for field in node._fields):
            several = held if isinstance(held, list) else [held]
            left += [one for one in several if hasattr(one, "_fields")]


def _path_of(item: Any) -> str:
    return str(item.path if hasattr(item, "path") else item.fspath)


def _leads_to(
    accepts: Callable[[FunctionType], bool], function: FunctionType, depth: int = 0
) -> bool:
    """Return whether a function, or one that it holds in its closure, is accepted."""
    if accepts(function):
        return True
    inner = [vars(function).get("__wrapped__")]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            inner.append(cell.cell_contents)
    return depth < 4 and any(
        isinstance(one, FunctionType) and _leads_to(accepts, one, depth + 1) for one in inner
    )


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _outermost(frame: FrameType) -> FrameType:
    *_, last = _stack(frame)
    return last
