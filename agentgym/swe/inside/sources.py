"""Compares code with the files from which it says it comes: a name is easily forged."""

import io
import os
import time
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

from agentgym.swe.inside.places import unwrapped


class Sources:
    """The code of files, as they were before the tests ran.

    Args:
        tests: Test modules, which are read now.
    """

    def __init__(self, tests: Iterable[str]) -> None:
        self._files: dict[str, list[CodeType]] = {}
        self._known: dict[int, CodeType] = {}
        self._begun = time.time()
        # Tested code may replace them.
        self._opened, self._looked, self._compiled = io.FileIO, os.fstat, compile
        self._kind_of, self._field, self._code_kind = type, getattr, CodeType
        self._unwrapped = unwrapped
        for path in tests:
            self._codes_of(path)

    def learn(self, codes: Iterable[CodeType]) -> None:
        """Take codes, and all within them, for code of their files."""
        self._known |= {id(code): code for code in codes_in(*codes)}

    def has(self, code: CodeType) -> bool:
        """Return whether a code is that of its file."""
        if id(code) in self._known:
            return True
        if code not in self._codes_of(code.co_filename):
            return False
        self._known[id(code)] = code
        return True

    def holds(
        self,
        value: object,
        accepts: Callable[[str], bool],
        *,
        lenient: bool = False,
        holders: tuple[object, ...] = (),
    ) -> bool:
        """Return whether a function, and those in its closure and defaults, are of accepted files.

        Args:
            value: The function.
            accepts: Whether a file is accepted.
            lenient: Whether other objects hold too, if calling them runs such functions.
            holders: Functions that hold it; one that holds itself, as decorators of mock make
                them, is judged once.
        """
        function = self._unwrapped(value)
        code: Any = self._field(function, "__code__", None)
        if any(one is function for one in holders):
            return True
        if len(holders) > 6:
            return False
        # Any object may have such attributes, and equal everything.
        if self._kind_of(code) is not self._code_kind:
            if not lenient:
                return False
            call: Any = self._field(self._kind_of(value), "__call__", None)
            if self._kind_of(self._field(call, "__code__", None)) is not self._code_kind:
                return True
            return self.holds(call, accepts, lenient=True, holders=(*holders, function))
        if not accepts(code.co_filename) or not self.has(code):
            return False
        return all(
            self.holds(one, accepts, lenient=lenient, holders=(*holders, function))
            for one in _callables(function)
        )

    def _codes_of(self, path: str) -> list[CodeType]:
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    def _read(self, path: str) -> list[CodeType]:
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


def codes_of_functions(values: Iterable[object]) -> Iterator[CodeType]:
    """Yield the codes of those values that are functions."""
    for value in values:
        if isinstance(value, FunctionType):
            yield value.__code__


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
