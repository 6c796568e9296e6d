"""Reads functions: parameters, decorators, and how they run."""

from __future__ import annotations

import ast
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from agentgym.python_source import shown_python
from agentgym.swe.interface.definitions import Binding, Flavour, Function, Parameter, Signature

Written: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_MOST_NODES: Final = 400
"""Largest number of nodes of an expression that is kept; of a larger one its text is compared."""

_BINDINGS: Final[dict[str, Binding]] = {
    "classmethod": "class method",
    "staticmethod": "static method",
    "property": "property",
    "cached_property": "cached property",
    "abstractproperty": "property",
}
_MARKS: Final = {
    "cache": "cache",
    "lru_cache": "cache",
    "contextmanager": "contextmanager",
    "asynccontextmanager": "asynccontextmanager",
    "abstractmethod": "abstract",
    "abstractproperty": "abstract",
}
_NEUTRAL: Final = frozenset({"override", "final", "overload", "wraps", "deprecated"})
_ITERATORS: Final = frozenset({"iter", "map", "filter", "zip", "reversed", "enumerate", "chain"})
_CONTAINERS: Final = frozenset(
    {"list", "dict", "set", "frozenset", "tuple", "sorted", "str", "int", "float", "bool", "len"}
    | {"List", "Dict", "Set", "FrozenSet", "Tuple", "None"}
)
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def bounded(node: ast.expr) -> ast.expr:
    """Return an expression, or a constant for its text if it is large."""
    if next(itertools.islice(ast.walk(node), _MOST_NODES, None), None) is None:
        return node
    return ast.Constant("large " + hashlib.sha256(shown_python(node).encode()).hexdigest())


def name_of(node: ast.AST | None) -> str:
    """Return a dotted name, without what it is called with or applied to; empty for others."""
    parts: list[str] = []
    while node is not None:
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        else:
            parts.append(node.id if isinstance(node, ast.Name) else "")
            return ".".join(reversed(parts)) if parts[-1] else ""
    return ""


def last_name(node: ast.AST | None) -> str:
    """Return the last part of a dotted name."""
    return name_of(node).rpartition(".")[2]


def mark_of(given: ast.expr | None) -> tuple[str, ast.expr] | None:
    """Return the mark and the function of ``functools.cache(function)`` and the like."""
    if not isinstance(given, ast.Call) or len(given.args) != 1:
        return None
    inner, mark = given.args[0], _MARKS.get(last_name(given.func), "")
    return (mark, inner) if mark and isinstance(inner, ast.Name) else None


def nodes_of(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes below some, those of nested functions and classes left out."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def read_function(node: Written, *, in_class: bool) -> Function:
    """Return what callers see of a function."""
    decorators = [last_name(each) for each in node.decorator_list]
    binding: Binding = "method" if in_class else "function"
    for each in decorators:
        binding = _BINDINGS.get(each, binding) if in_class else binding
    if in_class and node.name in ("__init_subclass__", "__class_getitem__", "__new__"):
        binding = "class method"
    return Function(
        read_signature(node.args, bound=in_class and binding != "static method"),
        _flavour(node),
        binding,
        frozenset(_MARKS[each] for each in decorators if each in _MARKS),
        frozenset(decorators) - _MARKS.keys() - _BINDINGS.keys() - _NEUTRAL - {"setter"},
        _iterates(node),
        fallbacks=_fallbacks(node),
    )


def read_lambda(node: ast.Lambda) -> Function:
    """Return what callers see of a function without statements."""
    return Function(read_signature(node.args, bound=False))


def read_signature(given: ast.arguments, *, bound: bool) -> Signature:
    """Return the parameters of a function; the first is left out if it is bound to an object."""
    positions = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positions) - len(given.defaults)) + [*given.defaults]
    found = []
    for at, (each, default) in enumerate(zip(positions, defaults, strict=True)):
        if bound and not at:
            continue
        private = at < len(given.posonlyargs) or each.arg.startswith("_")
        found.append(_parameter(each.arg, "position" if private else "either", default))
    for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append(_parameter(each.arg, "name", default))
    return Signature(tuple(found), given.vararg is not None, given.kwarg is not None)


def _parameter(name: str, kind: str, default: ast.expr | None) -> Parameter:
    return Parameter(name, kind, None if default is None else bounded(default))  # type: ignore[arg-type]


def _flavour(node: Written) -> Flavour:
    yields = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in nodes_of(node.body))
    if isinstance(node, ast.AsyncFunctionDef):
        return "asynchronous generator" if yields else "coroutine"
    return "generator" if yields else "function"


def _iterates(node: Written) -> bool | None:
    """Return whether a function returns iterators, as far as its text tells."""
    values = [each.value for each in nodes_of(node.body) if isinstance(each, ast.Return)]
    known = {_is_iterator(value) for value in values} or {False}
    if False in known:
        return False
    if known == {True}:
        return True
    if last_name(node.returns) in ("Iterator", "Generator", "Iterable"):
        return True
    of_text = isinstance(node.returns, ast.Constant) and node.returns.value is None
    return False if of_text or last_name(node.returns) in _CONTAINERS else None


def _is_iterator(value: ast.expr | None) -> bool | None:
    if isinstance(value, ast.GeneratorExp):
        return True
    if isinstance(value, ast.Call):
        name = last_name(value)
        return True if name in _ITERATORS else False if name in _CONTAINERS else None
    if value is None or isinstance(
        value,
        ast.Constant
        | ast.List
        | ast.Tuple
        | ast.Dict
        | ast.Set
        | ast.ListComp
        | ast.DictComp
        | ast.SetComp
        | ast.JoinedStr
        | ast.BoolOp
        | ast.Compare,
    ):
        return False
    return None


def _fallbacks(node: Written) -> dict[str, tuple[ast.expr, ...]]:
    """Return what a body puts in the place of parameters that were not given.

    That is ``x or VALUE``, ``VALUE if x is None else x`` and what ``if x is None:`` assigns.
    """
    given = node.args
    names = {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    found: dict[str, list[ast.expr]] = {}
    for each in nodes_of(node.body):
        if isinstance(each, ast.BoolOp):
            asked, values = _asked(each.values[0], names), each.values[1:]
        elif isinstance(each, ast.IfExp):
            asked, values = _asked(each.test, names), [each.body, each.orelse]
        elif isinstance(each, ast.If):
            asked = _asked(each.test, names)
            values = _assigned([*each.body, *each.orelse]) if asked else []
        else:
            continue
        for name in asked:
            found.setdefault(name, []).extend(bounded(value) for value in values)
    return {name: tuple(values[:20]) for name, values in found.items()}


def _assigned(body: Sequence[ast.stmt]) -> list[ast.expr]:
    some = itertools.islice(nodes_of(body), _MOST_NODES)
    kinds = ast.Assign | ast.AnnAssign | ast.Return
    return [each.value for each in some if isinstance(each, kinds) and each.value is not None]


def _asked(test: ast.expr, names: set[str]) -> set[str]:
    some = itertools.islice(ast.walk(test), _MOST_NODES)
    return {each.id for each in some if isinstance(each, ast.Name)} & names
