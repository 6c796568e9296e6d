"""Reads modules and classes as records, see `agentgym.swe.interface.definitions`.

Each branch of a condition counts as one possible definition of a name.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from agentgym.python_source import parse_python, shown_python
from agentgym.swe.interface.definitions import Class, Definition, Function, Imported, Module, Value
from agentgym.swe.interface.functions import (
    bounded,
    last_name,
    name_of,
    nodes_of,
    read_function,
    read_lambda,
)

_MOST_DEFINITIONS: Final = 8
"""Largest number of definitions of one name that are looked at."""

_OPTIONS: Final = ("init", "repr", "eq", "order", "unsafe_hash", "frozen", "kw_only", "slots")
_CHANGING: Final = frozenset(
    {"append", "add", "update", "extend", "insert", "pop", "remove", "discard", "clear"}
    | {"setdefault", "popitem", "sort", "reverse", "intersection_update", "difference_update"}
)
_REPLACED: Final = re.compile(r"\.__(defaults|kwdefaults|code|signature|wrapped)__\b")
_OPEN: Final = re.compile(
    r"globals|setattr|vars|modules\[__name__\]|__dict__|__getattr__|__getattribute__"
)


@dataclass(slots=True)
class _Scope:
    """The names that the statements of a module or a class have defined so far."""

    in_class: bool
    package: str = ""
    names: dict[str, tuple[Definition, ...]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    exported: tuple[str, ...] | None = None
    exported_unknown: bool = False
    is_open: bool = False

    def put(self, name: str, *definitions: Definition, beside: bool = False) -> None:
        """Define a name, in place of earlier definitions, or beside them in another branch."""
        before = self.names.get(name, ()) if beside else ()
        self.names[name] = (*before, *definitions)[-_MOST_DEFINITIONS:]


def read_module(source: bytes, name: str, path: str) -> Module:
    """Return what a module defines.

    Raises:
        LargeSourceError: It is too large, see `parse_python`.
        SyntaxError, ValueError, RecursionError, MemoryError: It is not Python.
    """
    tree = parse_python(source)
    is_package = path.rpartition("/")[2] == "__init__.py"
    scope = _Scope(False, name if is_package else name.rpartition(".")[0])
    _read(tree.body, scope)
    exported = None if scope.exported_unknown else scope.exported
    return Module(
        name, path, scope.names, tuple(scope.stars), exported,
        frozenset(_needed(tree.body)), scope.is_open or "__getattr__" in scope.names,
    )  # fmt: skip


def _read(body: Sequence[ast.stmt], scope: _Scope, *, beside: bool = False) -> None:
    """Read statements one after the other."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _read_function(node, scope, beside)
        elif isinstance(node, ast.ClassDef):
            scope.put(node.name, read_class(node), beside=beside)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for name, imported in _imported(node, scope):
                scope.put(name, imported, beside=beside)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            _read_assignment(node, scope, beside)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                scope.names.pop(name_of(target), None)
        elif isinstance(node, ast.Expr):
            _read_expression(node.value, scope)
        else:
            _read_branches(node, scope)


def _read_branches(node: ast.stmt, scope: _Scope) -> None:
    """Read a statement that holds others. What stands for type checkers alone is left out."""
    if isinstance(node, ast.For | ast.AsyncFor):
        for each in ast.walk(node.target):
            if isinstance(each, ast.Name):
                scope.put(each.id, Value())
    if isinstance(node, ast.If):
        constant = node.test.value if isinstance(node.test, ast.Constant) else True
        if last_name(node.test) != "TYPE_CHECKING" and constant:
            _read(node.body, scope, beside=True)
        _read(node.orelse, scope, beside=True)
        return
    for name in ("items", "body", "handlers", "orelse", "finalbody", "cases"):
        for part in getattr(node, name, ()):
            if isinstance(part, ast.stmt):
                _read([part], scope, beside=True)
            elif isinstance(part, ast.ExceptHandler | ast.match_case):
                _read(part.body, scope, beside=True)
            elif isinstance(part, ast.withitem) and isinstance(part.optional_vars, ast.Name):
                scope.put(part.optional_vars.id, Value())


def _read_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope, beside: bool
) -> None:
    decorators = [name_of(each) for each in node.decorator_list]
    read = read_function(node, in_class=scope.in_class)
    for each in decorators:
        owner, _, kind = each.rpartition(".")
        if owner == node.name and kind in ("setter", "deleter", "getter"):
            settable = kind == "setter"
            scope.names[owner] = tuple(
                replace(one, is_settable=one.is_settable or settable)
                if isinstance(one, Function) else one
                for one in scope.names.get(owner, ())
            )  # fmt: skip
            return
        if kind in ("register", "overload"):
            if kind == "overload" and node.name not in scope.names:
                scope.put(node.name, read)
            if kind == "overload" or node.name == "_":
                return
    scope.put(node.name, read, beside=beside)


def _imported(node: ast.Import | ast.ImportFrom, scope: _Scope) -> Iterator[tuple[str, Imported]]:
    if isinstance(node, ast.Import):
        for each in node.names:
            top = each.name.partition(".")[0]
            yield each.asname or top, Imported(each.name if each.asname else top)
        return
    module = node.module or ""
    if node.level:
        parts = scope.package.split(".") if scope.package else []
        above = parts[: len(parts) - node.level + 1]
        module = ".".join([*above, module] if module else above)
    for each in node.names:
        if each.name == "*":
            scope.stars.append(module)
        else:
            yield each.asname or each.name, Imported(module, each.name)


def _read_assignment(
    node: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: _Scope, beside: bool
) -> None:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if any(name_of(target) == "__all__" for target in targets):
        _export(node.value, scope, more=isinstance(node, ast.AugAssign))
        return
    for target in targets:
        if not isinstance(target, ast.Name) or isinstance(node, ast.AugAssign):
            _change(target, node, scope)
        elif isinstance(node, ast.AnnAssign):
            given = None if node.value is None else bounded(node.value)
            if given is not None or scope.in_class:
                scope.put(target.id, Value(given, (), True, _annotation(node)), beside=beside)
            elif target.id not in scope.names:
                scope.put(target.id, Value())
        elif isinstance(node.value, ast.Lambda):
            scope.put(target.id, read_lambda(node.value), beside=beside)
        else:
            given = node.value
            assert given is not None
            known = _as_property(given, scope) if scope.in_class else ()
            scope.put(target.id, *(known or (Value(bounded(given)),)), beside=beside)


def _as_property(given: ast.expr, scope: _Scope) -> tuple[Definition, ...]:
    """Return what ``property(f)``, ``staticmethod(f)`` and a second name of a method define."""
    kind, inner = "", given
    if isinstance(given, ast.Call) and given.args:
        kind, inner = last_name(given.func), given.args[0]
    if isinstance(inner, ast.Name) and kind in ("", "property"):
        of = scope.names.get(inner.id, ())
        if kind == "property":
            return tuple(
                replace(one, binding="property") for one in of if isinstance(one, Function)
            )
        return tuple(one for one in of if isinstance(one, Function))
    return ()


def _annotation(node: ast.AnnAssign) -> str:
    given = node.annotation
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value.partition("[")[0].rpartition(".")[2]
    return last_name(given)


def _change(target: ast.expr, node: ast.stmt, scope: _Scope) -> None:
    """Note that a statement changes what stands under a name."""
    if isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            inner = each.value if isinstance(each, ast.Starred) else each
            if isinstance(inner, ast.Name):
                scope.put(inner.id, Value())
        return
    name, text = name_of(target), shown_python(node)
    owner, _, member = name.partition(".")
    if owner in ("globals", "vars", "sys"):
        scope.is_open = scope.is_open or bool(_OPEN.search(text))
    elif isinstance(target, ast.Attribute) and member and isinstance(node, ast.Assign):
        scope.names[owner] = tuple(
            _with_member(one, member, node.value, text) for one in scope.names.get(owner, ())
        )
    else:
        _note(owner, text, scope)


def _with_member(one: Definition, member: str, value: ast.expr, text: str) -> Definition:
    if isinstance(one, Class):
        given = read_lambda(value) if isinstance(value, ast.Lambda) else Value(bounded(value))
        return replace(one, members={**one.members, member: (given,)})
    if isinstance(one, Function) and _REPLACED.search(text):
        return replace(one, replaced=one.replaced | {text})
    return one


def _note(name: str, text: str, scope: _Scope) -> None:
    scope.names[name] = tuple(
        replace(one, changes=(*one.changes, text)[-_MOST_DEFINITIONS:])
        if isinstance(one, Value) else one
        for one in scope.names.get(name, (Value(),))
    )  # fmt: skip


def _read_expression(node: ast.expr, scope: _Scope) -> None:
    """Read a call that changes a value or adds names."""
    if not isinstance(node, ast.Call):
        return
    name = name_of(node.func)
    owner, _, method = name.rpartition(".")
    if owner == "__all__":
        _export(node.args[0] if node.args else None, scope, more=True)
    elif owner in scope.names and method in _CHANGING:
        _note(owner, shown_python(node), scope)
    elif name in ("globals.update", "vars.update", "setattr"):
        scope.is_open = True
    for each in ast.walk(node):
        if isinstance(each, ast.NamedExpr) and isinstance(each.target, ast.Name):
            scope.put(each.target.id, Value(), beside=True)


def _export(given: ast.expr | None, scope: _Scope, *, more: bool) -> None:
    """Read what is assigned or added to ``__all__``."""
    parts = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
    found = [
        each.value for each in parts if isinstance(each, ast.Constant) and type(each.value) is str
    ]
    if len(found) != len(parts):
        scope.exported_unknown = True
    scope.exported = (*((scope.exported or ()) if more else ()), *found)


def read_class(node: ast.ClassDef) -> Class:
    """Return what users of a class see."""
    scope = _Scope(True)
    _read(node.body, scope)
    methods = [
        each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    is_open = any(name in scope.names for name in ("__getattr__", "__getattribute__"))
    attributes, sets_any = set[str](), False
    for method in methods:
        found, dynamic = _attributes(method)
        attributes |= found
        sets_any = sets_any or dynamic
    scope.names.pop("__slots__", None)
    return Class(
        tuple(name_of(base) for base in node.bases),
        scope.names,
        frozenset(attributes),
        _dataclass_options(node.decorator_list),
        is_open,
        sets_any,
    )


def _attributes(method: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[set[str], bool]:
    """Return the names that a method sets on its object, and whether it may set any."""
    first = next((each.arg for each in (*method.args.posonlyargs, *method.args.args)), "")
    found, dynamic = set(), False
    for each in nodes_of(method.body):
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            if each.value.id == first and isinstance(each.ctx, ast.Store):
                found.add(each.attr)
            dynamic = dynamic or (each.value.id == first and each.attr == "__dict__")
        elif isinstance(each, ast.Call) and last_name(each) in ("setattr", "__setattr__", "vars"):
            named = [one.value for one in each.args if isinstance(one, ast.Constant)]
            found |= {one for one in named if isinstance(one, str)}
            dynamic = dynamic or not named
    return found, dynamic


def _dataclass_options(decorators: Sequence[ast.expr]) -> Mapping[str, bool] | None:
    for each in decorators:
        if last_name(each) == "dataclass":
            options = {"init": True, "repr": True, "eq": True}
            for given in each.keywords if isinstance(each, ast.Call) else ():
                if given.arg in _OPTIONS and isinstance(given.value, ast.Constant):
                    options[given.arg] = bool(given.value.value)
            return options
    return None


def _needed(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the top-level modules that code imports and has no way to do without."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Try):
            waiting += [*node.orelse, *node.finalbody]
            if not any(_catches_import(each) for each in node.handlers):
                waiting += [*node.handlers, *node.body]
            elif not _in_library(node.body):
                waiting += node.handlers
        elif isinstance(node, ast.If) and _in_library(_for_newer_versions(node)):
            continue
        elif isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            if not node.level:
                yield (node.module or "").partition(".")[0]
        elif not isinstance(node, ast.expr):
            waiting += ast.iter_child_nodes(node)


def _in_library(body: Sequence[ast.stmt]) -> bool:
    """Return whether code imports from the standard library alone; others stand in for that."""
    imports = [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)]
    return bool(body) and imports == [*body] and {*_needed(body)} <= sys.stdlib_module_names


def _for_newer_versions(node: ast.If) -> Sequence[ast.stmt]:
    """Return the branch for newer versions of Python; empty if the condition is another one."""
    test = node.test
    if not isinstance(test, ast.Compare) or last_name(test.left) != "version_info":
        return ()
    return node.orelse if isinstance(test.ops[0], ast.Lt | ast.LtE) else node.body


def _catches_import(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        each is None or last_name(each) in ("ImportError", "ModuleNotFoundError", "Exception")
        for each in caught
    )
