"""A Python module as text whose pieces can be replaced; the rest stays as it is written."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from dataclasses import dataclass

from agentgym.python_source import parse_python


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement in a module.

    Attributes:
        operator: Name of the mutation operator.
        begin: Offset of the first byte that is replaced.
        end: Offset behind the last.
        text: The new text.
        line: Number of the first line, from 1.
    """

    operator: str
    begin: int
    end: int
    text: str
    line: int


class Source:
    """A module, its syntax tree, and where its nodes stand.

    Args:
        data: Its text in UTF-8.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: It is not Python.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.tree = parse_python(data)
        self._compiled = plain_code(data)
        self._lines = [0]
        for line in data.split(b"\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)

    def begin(self, node: ast.expr | ast.stmt | ast.ExceptHandler | ast.keyword) -> int:
        """Return the offset of a node's first byte."""
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.ExceptHandler | ast.keyword) -> int:
        """Return the offset behind a node's last byte."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr | ast.stmt) -> str:
        """Return a node as it is written."""
        return self.data[self.begin(node) : self.end(node)].decode()

    def between(self, left: ast.expr, right: ast.expr) -> tuple[int, int, str]:
        """Return what stands between two nodes: its offsets and its text."""
        begin, end = self.end(left), self.begin(right)
        return begin, end, self.data[begin:end].decode()

    def edited(self, edit: Edit) -> bytes | None:
        """Return the module with an edit; None if it is no Python or means the same."""
        data = self.data[: edit.begin] + edit.text.encode() + self.data[edit.end :]
        try:
            code = plain_code(data)
        except (SyntaxError, ValueError, RecursionError):
            return None
        return None if code == self._compiled else data


def plain_code(data: bytes) -> types.CodeType:
    """Compile a module, and leave out where its instructions stand in the text."""
    return _without_places(compile(data, "", "exec", dont_inherit=True))


def _without_places(code: types.CodeType) -> types.CodeType:
    inner = tuple(
        _without_places(each) if isinstance(each, types.CodeType) else each
        for each in code.co_consts
    )
    return code.replace(co_consts=inner, co_linetable=b"", co_firstlineno=1)


Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


def definitions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield functions, classes and methods with their qualified names, outermost first."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Definition):
            yield prefix + node.name, node
            yield from definitions(node, f"{prefix}{node.name}.")
        elif not isinstance(node, ast.expr):
            yield from definitions(node, prefix)
