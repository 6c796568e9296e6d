"""Tests that an agent left in Python files: whether they still test anything.

The text is only read, never run. A function counts as a test if it asserts something on its path,
itself or through a function of the same file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from agentgym.errors import GuestFileError

_ENDS: Final = (ast.Return, ast.Raise)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def asserting_tests(source: bytes) -> set[str]:
    """Return the names of the test functions of a module that assert something.

    Code after a `return` or a `raise` is not reached. A skipped test and a test with an empty body
    test nothing.

    Args:
        source: Source of the module, as the agent left it.

    Raises:
        GuestFileError: It is not Python.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise GuestFileError(f"a test file is not Python: {error}") from None
    skipped = {id(made) for node in ast.walk(tree) for made in _skipped_members(node)}
    functions = [
        node for node in ast.walk(tree) if isinstance(node, _Function) and id(node) not in skipped
    ]
    asserting: set[str] = set()
    while more := {f.name for f in functions if _asserts(f.body, asserting)} - asserting:
        asserting |= more
    return {name for name in asserting if name.startswith("test")}


def _skipped_members(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a decorator skips: a function, or all functions of a class."""
    if isinstance(node, _Function | ast.ClassDef) and any(
        "skip" in ast.unparse(one).lower() for one in node.decorator_list
    ):
        yield from ast.walk(node)


def _asserts(body: Iterable[ast.stmt], helpers: set[str]) -> bool:
    """Return whether statements assert something before they end."""
    for statement in body:
        if isinstance(statement, _ENDS):
            return False
        if isinstance(statement, _Function | ast.ClassDef):
            continue
        if any(_is_assertion(node, helpers) for node in ast.walk(statement)):
            return True
    return False


def _is_assertion(node: ast.AST, helpers: set[str]) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Attribute):
        name = called.attr
        own = isinstance(called.value, ast.Name) and called.value.id in ("self", "cls")
        return name.startswith("assert") or name in ("fail", "raises") or (own and name in helpers)
    return isinstance(called, ast.Name) and (called.id in helpers or called.id == "raises")
