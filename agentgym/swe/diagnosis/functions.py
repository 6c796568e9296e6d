"""The functions of Python files: where they are, and which of them a change touches.

A function is named as ``Class.method`` or ``function``; what is nested in a function belongs to it.
"""

from __future__ import annotations

import ast
import functools
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.comparison import BudgetSpentError, Matcher
from agentgym.python_source import parse_python

_PYTHON: Final = (".py", ".pyi")


@dataclass(frozen=True, slots=True)
class Function:
    """A function with its decorators, from the first to the last line, counted from 1."""

    name: str
    first: int
    last: int


@functools.lru_cache(maxsize=128)
def functions_of(text: str) -> tuple[Function, ...]:
    """Return the functions of a Python file in the order of their lines; none of other text."""
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(sorted(_functions(tree, ""), key=lambda each: each.first))


def _functions(node: ast.AST, owner: str) -> Iterator[Function]:
    waiting = [*ast.iter_child_nodes(node)]
    while waiting:
        child = waiting.pop()
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
            yield Function(owner + child.name, first, child.end_lineno or child.lineno)
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{owner}{child.name}.")
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            waiting += ast.iter_child_nodes(child)


def functions_at(path: str, text: str, first: int, last: int) -> frozenset[str]:
    """Return the names of the functions that have a line in a range, counted from 1."""
    return frozenset(_functions_in(path, text, [(first, last)]))


def changed_functions(path: str, before: str, after: str) -> frozenset[str]:
    """Return the functions of `before` in which a text differs from `after`."""
    if not path.endswith(_PYTHON):
        return frozenset()
    changed = list(_changed_lines(before.splitlines(), after.splitlines()))
    left = [(i1 + 1, i2) for i1, i2, _, _ in changed if i1 < i2]
    came = [(j1 + 1, j2) for _, _, j1, j2 in changed if j1 < j2]
    known = {each.name for each in functions_of(before)}
    found = _functions_in(path, before, left) | (_functions_in(path, after, came) & known)
    return frozenset(found)


def _functions_in(path: str, text: str, ranges: Sequence[tuple[int, int]]) -> set[str]:
    """Return the functions that have a line in one of some ranges, which are in order."""
    if not path.endswith(_PYTHON):
        return set()
    ends = [last for _, last in ranges]
    nearest = ((each, bisect_left(ends, each.first)) for each in functions_of(text))
    return {each.name for each, at in nearest if at < len(ranges) and ranges[at][0] <= each.last}


def _changed_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the ranges of lines that differ, in both texts."""
    least = min(len(old), len(new))
    head = next((at for at in range(least) if old[at] != new[at]), least)
    most = least - head
    tail = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    try:
        found = Matcher(a, b).get_opcodes()
    except BudgetSpentError:
        yield head, len(old) - tail, head, len(new) - tail
        return
    for tag, i1, i2, j1, j2 in found:
        if tag != "equal":
            yield head + i1, head + i2, head + j1, head + j2
