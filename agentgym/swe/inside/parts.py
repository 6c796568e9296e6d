"""Finds parts of the test runner that were replaced while tests ran."""

import io
import operator
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from agentgym.swe.inside.places import Places, file_of, origin_of
from agentgym.swe.inside.telling import Listen

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
