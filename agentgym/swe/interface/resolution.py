"""Finds what names stand for, across the modules of a repository.

Modules are read when they are asked for. A module that cannot be read, or that is beyond the
budget, may define anything.
"""

from __future__ import annotations

import ast
import builtins
import collections
import collections.abc
import contextlib
import enum
import hashlib
import io
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentgym.python_source import shown_python
from agentgym.swe.interface.definitions import Class, Definition, Function, Imported, Module, Value
from agentgym.swe.interface.functions import mark_of, name_of
from agentgym.swe.interface.reading import read_module

_MOST_BYTES: Final = 3_000_000
"""Largest size of all modules of one state that are read."""

_MOST_NAMES: Final = 60
"""Largest number of names that are followed for one question."""

_MOST_ALTERNATIVES: Final = 8
_MOST_PARTS: Final = 400
"""Largest number of parts of an expression that are looked at."""

_MOST_BASES: Final = 60
_WITHOUT_MEMBERS: Final = ("Protocol", "Generic", "ABC", "NamedTuple", "TypedDict")
_KNOWN: Final[Mapping[str, object]] = {
    module.__name__: module
    for module in (builtins, collections, collections.abc, contextlib, enum, io, typing)
}


@dataclass(frozen=True, slots=True)
class Found:
    """Something that a name stands for.

    Attributes:
        definition: What it is, None if that is not known or lies outside of the repository.
        module: The dotted name of the module that defines it.
        name: Its name there.
    """

    definition: Definition | None
    module: str
    name: str

    @property
    def place(self) -> str:
        """Module and name, such as ``shelf.cache:Shelf``."""
        return f"{self.module}:{self.name}"


class Repository:
    """The modules of one state of a repository.

    Args:
        paths: Paths of its Python files by dotted name.
        read: Returns the content of a file, None for anything that is no regular file.
        folders: The folders of its files, as dotted names.
        other: Another state, whose modules are taken where the content is equal.
    """

    def __init__(
        self,
        paths: Mapping[str, str],
        read: Callable[[str], bytes | None],
        folders: Collection[str] = (),
        other: Repository | None = None,
    ) -> None:
        self.paths = paths
        self._read = read
        self._modules: dict[str, Module | None] = {}
        self._left = _MOST_BYTES
        self._folders = folders
        self._other = other
        self._sources: dict[str, tuple[str, bytes]] = {}
        self._found: dict[tuple[str, str], Sequence[Found]] = {}
        self._lineages: dict[tuple[str, int], Sequence[Found]] = {}

    def module(self, name: str) -> Module | None:
        """Return a module, or None if the repository lacks it or it cannot be read."""
        if name not in self._modules:
            self._modules[name] = self._load(name) if name in self.paths else None
        return self._modules[name]

    def has(self, name: str) -> bool:
        """Return whether a module may be imported by a name."""
        return name in self.paths or name in self._folders

    def _load(self, name: str) -> Module | None:
        source = self._read(self.paths[name])
        if source is None:
            return None
        key = (self.paths[name], hashlib.sha256(source).digest())
        self._sources[name] = key
        if self._other is not None and self._other._sources.get(name) == key:
            return self._other.module(name)
        if len(source) > self._left:
            return None
        self._left -= len(source)
        try:
            return read_module(source, name, self.paths[name])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def find(self, module: str, name: str) -> Sequence[Found]:
        """Return what a name of a module may stand for; empty if the module lacks it."""
        if (module, name) not in self._found:
            try:
                self._found[module, name] = self._find(module, name, _Steps())
            except RecursionError:
                self._found[module, name] = [Found(None, module, name)]
        return self._found[module, name]

    def _find(self, module: str, name: str, steps: _Steps) -> Sequence[Found]:
        if not steps.take((module, name)):
            return [Found(None, module, name)]
        here = self.module(module)
        if here is None:
            # A module that cannot be read may have it, and so may one from elsewhere.
            lost = not self.has(module) and self.has(module.partition(".")[0])
            empty = module in self._folders and module not in self.paths
            if lost or empty:
                return self._submodule(module, name)
            return [Found(None, module, name)]
        if name in here.names:
            here_found = [
                each for one in here.names[name] for each in self._follow(one, here, name, steps)
            ]
            return here_found[:_MOST_ALTERNATIVES]
        for star in here.stars:
            if found := self._find(star, name, steps):
                return found
        return self._submodule(module, name) or (
            [Found(None, module, name)] if here.is_open else []
        )

    def _submodule(self, module: str, name: str) -> Sequence[Found]:
        return [Found(None, module, name)] if self.has(f"{module}.{name}") else []

    def _follow(self, one: Definition, here: Module, name: str, steps: _Steps) -> Sequence[Found]:
        if isinstance(one, Imported):
            if not one.name:
                return [Found(None, one.module, "")]
            return self._find(one.module, one.name, steps)
        if isinstance(one, Value) and not one.changes and (alias := _alias(one.given)):
            found = self._dotted(here, alias, steps)
            if found and all(isinstance(each.definition, Function | Class) for each in found):
                return found
        if isinstance(one, Value) and (mark := mark_of(one.given)):
            found = self._follow(Value(mark[1]), here, name, steps)
            return [
                replace(
                    each,
                    definition=replace(each.definition, marks=each.definition.marks | {mark[0]}),
                )
                if isinstance(each.definition, Function)
                else each
                for each in found
            ]
        return [Found(one, here.name, name)]

    def named(self, here: str, dotted: str) -> Sequence[Found]:
        """Return what a dotted name may stand for in a module; its last part may be unknown."""
        module = self.module(here)
        if module is None:
            return []
        plain = dotted in module.names
        return self.find(here, dotted) if plain else self._dotted(module, dotted, _Steps())

    def _dotted(self, here: Module, dotted: str, steps: _Steps) -> Sequence[Found]:
        first, *rest = dotted.split(".")
        if first not in here.names and not here.stars:
            return [Found(None, "builtins", dotted)] if hasattr(builtins, first) else []
        if not rest:
            return self._find(here.name, first, steps)
        owner = next(iter(here.names.get(first, ())), None)
        if isinstance(owner, Imported):
            module = f"{owner.module}.{owner.name}" if owner.name else owner.module
            for count in range(len(rest) - 1, -1, -1):
                inner = ".".join([module, *rest[:count]])
                if inner in self.paths or not self.has(inner.partition(".")[0]):
                    return self._find(inner, ".".join(rest[count:]), steps)
        found = self._find(here.name, first, steps)
        return [Found(None, each.module, f"{each.name}.{'.'.join(rest)}") for each in found]

    def lineage(self, start: Found) -> Sequence[Found]:
        """Return a class and all classes from which it inherits, those outside included."""
        key = (start.place, id(start.definition))
        if key not in self._lineages:
            self._lineages[key] = self._lineage(start)
        return self._lineages[key]

    def _lineage(self, start: Found) -> Sequence[Found]:
        found: list[Found] = []
        seen, waiting = set[str](), [start]
        while waiting and len(found) < _MOST_BASES:
            each = waiting.pop(0)
            if each.place in seen:
                continue
            seen.add(each.place)
            found.append(each)
            if isinstance(each.definition, Class):
                waiting[:0] = [
                    base
                    for name in each.definition.bases
                    for base in self.named(each.module, name) or [Found(None, "", name)]
                ]
        return found

    def member(self, start: Found, name: str, *, is_value: bool = True) -> Sequence[Found]:
        """Return what a member of a class may be; unknown if a base outside may have it.

        Args:
            start: The class.
            name: The member.
            is_value: Whether an attribute of the object will do, even one set by a computed name.
        """
        outside, is_open = [], False
        for each in self.lineage(start):
            one = each.definition
            if not isinstance(one, Class):
                outside.append(each)
            elif name in one.members:
                return [self._aliased(each, member, name) for member in one.members[name]]
            elif name in one.attributes:
                return [Found(Value(), each.module, f"{each.name}.{name}")]
            else:
                is_open = is_open or one.is_open or (one.sets_any and is_value)
        unknown = [Found(None, each.module, f"{each.name}.{name}") for each in outside]
        if is_open:
            return [Found(None, start.module, f"{start.name}.{name}")]
        return [one for one, base in zip(unknown, outside, strict=True) if _may_have(base, name)]

    def _aliased(self, owner: Found, member: Definition, name: str) -> Found:
        """Return a member; a function of the module under another name is that function."""
        if isinstance(member, Value) and (alias := _alias(member.given)):
            for each in self.named(owner.module, alias):
                if isinstance(each.definition, Function):
                    return each
        return Found(member, owner.module, f"{owner.name}.{name}")

    def written(self, here: str, given: ast.expr | None) -> str:
        """Return an expression in a form that is equal for equal values.

        Constants of the repository are replaced by their values, and imported names by full ones.
        """
        if given is None:
            return ""
        try:
            return self._written(here, given, _Steps())
        except (RecursionError, ValueError):
            return shown_python(given)

    def _written(self, here: str, given: ast.expr, steps: _Steps) -> str:
        if not steps.take(object(), _MOST_PARTS):
            return shown_python(given)
        if isinstance(given, ast.Constant):
            value = given.value
            whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
            return repr(int(value) if whole else value)  # type: ignore[arg-type]
        if isinstance(given, ast.List | ast.Tuple | ast.Set):
            kind = type(given).__name__.lower()
            inner = [self._written(here, each, steps) for each in given.elts]
            return f"{kind}({', '.join(sorted(inner) if kind == 'set' else inner)})"
        if isinstance(given, ast.Dict):
            pairs = zip(given.keys, given.values, strict=True)
            inner = [
                f"{self._written(here, key, steps) if key else '**'}: "
                f"{self._written(here, value, steps)}"
                for key, value in pairs
            ]
            return f"dict({{{', '.join(inner)}}})" if inner else "dict()"
        if (number := _number(given)) is not None:
            return repr(number)
        if name := _alias(given):
            return self._written_name(here, name, steps)
        if isinstance(given, ast.Call) and (name := name_of(given.func)):
            return self._written_call(here, given, name, steps)
        return shown_python(given)

    def _written_call(self, here: str, given: ast.Call, name: str, steps: _Steps) -> str:
        called = self._written_name(here, name, steps)
        inner = [self._written(here, each, steps) for each in given.args]
        inner += [f"{each.arg}={self._written(here, each.value, steps)}" for each in given.keywords]
        plain = called.rpartition(".")[2]
        if plain in ("list", "tuple", "dict", "set", "frozenset") and len(inner) < 2:
            if not inner:
                return f"{plain}()"
            if plain == "frozenset" and inner[0].startswith(("set(", "tuple(", "list(")):
                return f"frozenset{inner[0][inner[0].index('(') :]}"
        return f"{called}({', '.join(inner)})"

    def _written_name(self, here: str, name: str, steps: _Steps) -> str:
        steps.followed += 1
        for each in self.named(here, name) if steps.followed <= _MOST_NAMES else ():
            one = each.definition
            if isinstance(one, Value) and one.given is not None and not one.changes:
                return self._written(each.module, one.given, steps)
            if one is None and not self.has(each.module.partition(".")[0]):
                return f"{each.module}.{each.name}".removeprefix("builtins.").strip(".")
            return each.name or each.module
        return name


class _Steps:
    """The names at which one search has looked; it looks at none of them twice."""

    def __init__(self) -> None:
        self._seen: set[object] = set()
        self.followed = 0

    def take(self, what: object, most: int = _MOST_NAMES) -> bool:
        if what in self._seen or len(self._seen) >= most:
            return False
        self._seen.add(what)
        return True


def known_class(found: Found) -> type | None:
    """Return a class of a few modules of the standard library."""
    known = getattr(_KNOWN.get(found.module), found.name, None)
    origin = typing.get_origin(known) or known
    return origin if isinstance(origin, type) else None


def _may_have(base: Found, name: str) -> bool:
    """Return whether a class from elsewhere may have a member that `object` lacks."""
    known = known_class(base)
    if known is None:
        return base.name.rpartition(".")[2] not in _WITHOUT_MEMBERS
    return hasattr(known, name) and getattr(known, name) is not getattr(object, name, None)


def _alias(given: ast.expr | None) -> str:
    return name_of(given) if isinstance(given, ast.Name | ast.Attribute) else ""


def _number(given: ast.expr) -> int | float | None:
    """Return the value of a small calculation with numbers."""
    if isinstance(given, ast.Constant):
        value = given.value
        return value if type(value) in (int, float) and abs(value) < 1e15 else None  # type: ignore
    if isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.USub):
        inner = _number(given.operand)
        return None if inner is None else -inner
    if not isinstance(given, ast.BinOp):
        return None
    left, right = _number(given.left), _number(given.right)
    if left is None or right is None:
        return None
    if isinstance(given.op, ast.Add):
        return left + right
    if isinstance(given.op, ast.Sub):
        return left - right
    return left * right if isinstance(given.op, ast.Mult) else None


def literal(text: str) -> bool:
    """Return whether a written expression names nothing: it has one value everywhere."""
    return all(part in _LITERAL_NAMES for part in _names_in(text))


_LITERAL_NAMES: Final = frozenset(
    {"list", "tuple", "set", "dict", "frozenset", "True", "False", "None"}
)


def _names_in(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield "?"
        return
    for each in ast.walk(tree):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute | ast.Lambda | ast.JoinedStr):
            yield "?"
