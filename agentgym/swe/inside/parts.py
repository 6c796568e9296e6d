"""Finds parts of the test runner that were replaced while tests ran."""

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from agentgym.swe.inside.places import Places, file_of, unwrapped
from agentgym.swe.inside.sources import Sources
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
    places: Places, sources: Sources, runner: tuple[str, ...], listen: Listen
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
        for one in map(unwrapped, values)
        if isinstance(one, FunctionType)
    }
    known = tuple(functions.values())
    codes = tuple(one.__code__ for one in known)
    # Most of a run nothing is replaced, and then no line of Python runs for each part.
    same, every, each, code_of = operator.is_, all, map, operator.attrgetter("__code__")
    written: list[object] = []
    sources.learn(codes)

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
            return is_other or not sources.holds(value, places.is_other, lenient=True)
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
