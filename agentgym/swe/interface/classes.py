"""Compares two states of a class: its members, its fields, its bases."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from agentgym.swe.interface.definitions import (
    Class,
    Definition,
    Function,
    Parameter,
    Signature,
    Value,
    is_public,
)
from agentgym.swe.interface.functions import last_name
from agentgym.swe.interface.functions_compared import State, changed_signature
from agentgym.swe.interface.resolution import Found, Repository, known_class

_FREE: Final = frozenset(
    {"__annotations__", "__doc__", "__hash__", "__match_args__", "__module__", "__post_init__"}
    | {"__qualname__", "__getattribute__", "__getattr__", "__init__", "__new__", "__repr__"}
)
"""Special names that are compared in another way, or are no business of callers."""

_ADDED: Final = frozenset({"object", "Generic", "ABC"})
_DATA: Final = ("NamedTuple", "TypedDict")


def members_of(repository: Repository, start: Found) -> Iterator[str]:
    """Yield the public members of a class and of its bases in the repository."""
    seen = set[str]()
    for each in repository.lineage(start):
        one = each.definition
        if isinstance(one, Class):
            for name in (*one.members, *sorted(one.attributes)):
                special = name.startswith("__") and name.endswith("__") and name not in _FREE
                if name not in seen and (is_public(name) or special):
                    seen.add(name)
                    yield name


def changed_bases(before: Repository, was: Found, after: Repository, now: Found) -> Iterator[str]:
    """Yield the bases that a class no longer has."""
    lineage = after.lineage(now)
    if any(not each.module for each in lineage):
        return
    has = {each.place for each in lineage}
    has |= {known.__qualname__ for each in lineage for known in _mro(each)}
    for each in before.lineage(was)[1:]:
        if each.name.rpartition(".")[2] in _ADDED or not is_public(f"{each.module}.{each.name}"):
            continue
        there = after.find(each.module, each.name) if before.has(each.module) else [each]
        names = {name for one in there for name in (one.place, *_known_name(one))}
        if names and not names & has:
            yield f"is no {each.name} any more"
            return


def _mro(found: Found) -> Sequence[type]:
    known = known_class(found)
    return known.__mro__[:-1] if known else ()


def _known_name(found: Found) -> Sequence[str]:
    """Return the real name of a class of the standard library, which may have several."""
    known = known_class(found)
    return (known.__qualname__,) if known else ()


def kind_of(repository: Repository, start: Found) -> str:
    """Return "enumeration", "dataclass", "NamedTuple", "TypedDict" or "class"."""
    for each in repository.lineage(start):
        name = each.name.rpartition(".")[2]
        if isinstance(each.definition, Class):
            if each.definition.dataclass is not None:
                return "dataclass"
        elif name in _DATA:
            return name
        elif name.endswith(("Enum", "Flag")) and each.module in ("enum", ""):
            return "enumeration"
    return "class"


def changed_kind(before: Repository, was: Found, after: Repository, now: Found) -> Iterator[str]:
    """Yield a change of what a class is, and of the options of a dataclass."""
    old, new = kind_of(before, was), kind_of(after, now)
    if old != new and old != "class":
        yield f"is no {old} any more"
    if _is_hashable(before, was) and not _is_hashable(after, now):
        yield "cannot be hashed any more"
    options = [_options(repository, one) for repository, one in ((before, was), (after, now))]
    if old == new == "dataclass":
        for name in ("frozen", "eq", "order", "slots"):
            has, gets = (each.get(name, False) for each in options)
            # An order is more than there was, as a new method is.
            if has != gets and not (name == "order" and gets):
                yield f"is a dataclass with {name}={gets}"


def _options(repository: Repository, start: Found) -> dict[str, bool]:
    for each in repository.lineage(start):
        if isinstance(each.definition, Class) and each.definition.dataclass is not None:
            return dict(each.definition.dataclass)
    return {}


def _is_hashable(repository: Repository, start: Found) -> bool:
    """Return whether the first class that says something about equality has a hash as well."""
    for each in repository.lineage(start):
        one = each.definition
        if not isinstance(one, Class):
            continue
        if "__hash__" in one.members:
            value = one.members["__hash__"][-1]
            none = isinstance(value, Value) and isinstance(value.given, ast.Constant)
            return not none
        if one.dataclass and one.dataclass.get("eq", True) and "__eq__" not in one.members:
            return one.dataclass.get("frozen", False) or one.dataclass.get("unsafe_hash", False)
        if "__eq__" in one.members:
            return bool(one.dataclass and one.dataclass.get("frozen"))
    return True


def changed_fields(before: Repository, was: Found, after: Repository, now: Found) -> Iterator[str]:
    """Yield changes of an enumeration's members, and of the fields of a NamedTuple."""
    kind = kind_of(before, was)
    if kind != kind_of(after, now) or kind not in ("enumeration", "NamedTuple"):
        return
    old, new = _fields(before, was), _fields(after, now)
    if kind == "NamedTuple":
        if list(old) != list(new):
            yield f"has other fields: {', '.join(new)}"
        else:
            states = State(before, was.module), State(after, now.module)
            yield from changed_signature(_signature(old), _signature(new), *states)
        return
    kept = [name for name in new if name in old]
    if kept != [name for name in old if name in new]:
        yield "has its members in another order"
    for at, (name, value) in enumerate(old.items()):
        if name in new:
            other, place = new[name], list(new).index(name)
            if _member_value(before, was, value, at) != _member_value(after, now, other, place):
                yield f"has another value for {name}"
                return


def _member_value(repository: Repository, owner: Found, given: ast.expr | None, at: int) -> str:
    if isinstance(given, ast.Call) and last_name(given) == "auto":
        return f"number {at}"
    return repository.written(owner.module, given)


def _fields(repository: Repository, start: Found) -> dict[str, ast.expr | None]:
    found: dict[str, ast.expr | None] = {}
    for each in reversed(repository.lineage(start)):
        if isinstance(each.definition, Class):
            for name, members in each.definition.members.items():
                value = members[-1]
                if isinstance(value, Value) and not name.startswith("_"):
                    found[name] = value.given
    return found


def _signature(fields: dict[str, ast.expr | None]) -> Signature:
    return Signature(tuple(Parameter(name, "either", each) for name, each in fields.items()))


def constructor(repository: Repository, start: Found) -> tuple[Function, str] | None:
    """Return what makes an object of a class, and the module of its names; None if not known."""
    for each in repository.lineage(start):
        one = each.definition
        if not isinstance(one, Class):
            if known_class(each) is object or each.name.rpartition(".")[2] in _ADDED:
                continue
            return None
        for name in ("__init__", "__new__"):
            if name in one.members:
                made = one.members[name][-1]
                return (made, each.module) if isinstance(made, Function) else None
        if one.dataclass is not None and one.dataclass.get("init", True):
            return _generated(repository, each), each.module
    return Function(Signature(), binding="method"), start.module


def _generated(repository: Repository, start: Found) -> Function:
    """Return the ``__init__`` of a dataclass."""
    found: dict[str, Parameter] = {}
    for each in reversed(repository.lineage(start)):
        one = each.definition
        if not isinstance(one, Class) or one.dataclass is None:
            continue
        by_name = one.dataclass.get("kw_only", False)
        for name, members in one.members.items():
            value = members[-1]
            if not isinstance(value, Value) or not value.is_declared:
                continue
            if value.annotation == "KW_ONLY":
                by_name = True
            elif value.annotation != "ClassVar":
                parameter = _field(name, value, by_name)
                if parameter is None:
                    found.pop(name, None)
                else:
                    found[name] = parameter
    ordered = sorted(found.values(), key=lambda each: each.kind == "name")
    return Function(Signature(tuple(ordered)), binding="method")


def _field(name: str, value: Value, by_name: bool) -> Parameter | None:
    """Return the parameter of a field, None for one that is not given."""
    given = value.given
    if not isinstance(given, ast.Call) or last_name(given) != "field":
        return Parameter(name, "name" if by_name else "either", given)
    options = {each.arg: each.value for each in given.keywords}
    if _is(options.get("init"), False):
        return None
    if "kw_only" in options:
        by_name = _is(options["kw_only"], True)
    default = options.get("default")
    if default is None and "default_factory" in options:
        default = ast.Call(ast.Name("factory", ast.Load()), [options["default_factory"]], [])
    return Parameter(name, "name" if by_name else "either", default)


def _is(given: ast.expr | None, value: bool) -> bool:
    return isinstance(given, ast.Constant) and given.value is value


def is_abstract(definitions: Sequence[Definition | None]) -> bool:
    """Return whether subclasses have to define a member."""
    return any(isinstance(each, Function) and "abstract" in each.marks for each in definitions)
