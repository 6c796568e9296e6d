"""The mutants of a solution: of what it touched, of what stands beside it, and of its callers."""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from agentgym.swe.mutation.source import Definition, Edit, Source, definitions
from agentgym.swe.mutation.statements import edits_of, private_values

Nearness = Literal["touched", "beside", "caller", "elsewhere"]
_CONTEXT = 2


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module after the solution, with one mistake.

    Attributes:
        path: Path of the module in the repository.
        line: Line of the mistake.
        operator: Name of the mutation operator.
        name: Qualified name of the function or class; empty for a value of the module.
        nearness: ``touched`` by the solution, ``beside`` such a function in the same module, in a
            module that calls one (``caller``), or ``elsewhere``.
        before: The module after the solution.
        after: The same with the mistake.
    """

    path: str
    line: int
    operator: str
    name: str
    nearness: Nearness
    before: bytes
    after: bytes

    def hunk(self) -> str:
        """Return the mistake as a diff."""
        lines = difflib.unified_diff(
            self.before.decode().splitlines(),
            self.after.decode().splitlines(),
            f"a/{self.path}",
            f"b/{self.path}",
            lineterm="",
            n=_CONTEXT,
        )
        return "\n".join(lines)


def find_mutants(
    base: Mapping[str, bytes], solved: Mapping[str, bytes], *, everywhere: bool = False
) -> list[Mutant]:
    """Return the mutants of a solution, in the order of files and lines.

    Args:
        base: The modules before the solution, by path. Those that are no Python are left out.
        solved: The modules after it.
        everywhere: Whether those of modules count that have nothing to do with the solution.
    """
    sources = {path: source for path, data in sorted(solved.items()) if (source := _read(data))}
    touched = {path: _touched(base.get(path), source) for path, source in sources.items()}
    changed = {path for path, data in solved.items() if base.get(path) != data}
    wanted = {name for names in touched.values() for path in names for name in path.split(".")}
    # Dunder methods are called by no name.
    wanted = {name for name in wanted if not name.startswith("__")}
    found: list[Mutant] = []
    for path, source in sources.items():
        if path in changed:
            found += _mutants(path, source, touched[path], "beside")
        elif wanted & _names(source.tree):
            found += _mutants(path, source, set(), "caller")
        elif everywhere:
            found += _mutants(path, source, set(), "elsewhere")
    return found


def sampled(mutants: list[Mutant], limit: int, seed: int) -> list[Mutant]:
    """Return at most `limit` mutants in their order; the same ones for the same seed."""
    if len(mutants) <= limit:
        return mutants
    chosen = sorted(random.Random(seed).sample(range(len(mutants)), limit))
    return [mutants[at] for at in chosen]


def _mutants(path: str, source: Source, touched: set[str], else_: Nearness) -> Iterator[Mutant]:
    seen: set[bytes] = set()
    for name, edit in _edits(source):
        after = source.edited(edit)
        if after is None or after in seen:
            continue
        seen.add(after)
        near: Nearness = "touched" if name in touched else else_
        yield Mutant(path, edit.line, edit.operator, name, near, source.data, after)


def _edits(source: Source) -> Iterator[tuple[str, Edit]]:
    for edit in private_values(source):
        yield "", edit
    for name, definition in definitions(source.tree):
        for edit in edits_of(source, definition):
            yield name, edit


def _touched(base: bytes | None, source: Source) -> set[str]:
    """Return the qualified names of the definitions that are new or differ."""
    before = {} if base is None else _shapes(_read(base))
    after = _shapes(source)
    return {name for name, shape in after.items() if before.get(name) != shape}


def _shapes(source: Source | None) -> dict[str, str]:
    return {} if source is None else {n: _shape(node) for n, node in definitions(source.tree)}


def _shape(node: Definition) -> str:
    if not isinstance(node, ast.ClassDef):
        return ast.dump(node)
    # A class differs by what it has of its own: its methods are looked at by themselves.
    own = [each for each in node.body if not isinstance(each, Definition)]
    return " ".join(map(ast.dump, [*node.decorator_list, *node.bases, *node.keywords, *own]))


def _names(tree: ast.AST) -> set[str]:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _read(data: bytes) -> Source | None:
    try:
        return Source(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
