"""Compares two states of a function: what callers may give, and what they get."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.swe.interface.definitions import Function, Parameter, Signature
from agentgym.swe.interface.resolution import Repository

_EMPTY: Final = frozenset(
    {"list()", "tuple()", "dict()", "set()", "frozenset()"}
    | {f"factory({kind})" for kind in ("list", "tuple", "dict", "set", "frozenset")}
)
_ITERATION: Final = frozenset({"generator", "function"})


@dataclass(frozen=True, slots=True)
class State:
    """One state of a repository, and the module in which the names of a function are looked up."""

    repository: Repository
    module: str

    def written(self, given: ast.expr | None) -> str:
        """Return an expression in a form that is equal for equal values."""
        return self.repository.written(self.module, given)


def changed_function(was: Function, now: Function, *, name: str = "") -> Iterator[str]:
    """Yield what changed in a function beside its parameters, such as "is a coroutine"."""
    known = was.others == now.others
    if known and was.binding != now.binding:
        yield f"is a {now.binding} and was a {was.binding}"
        return
    if known and was.binding != "property" and (change := _flavour(was, now, name)):
        yield change
    for mark in sorted(was.marks ^ now.marks):
        if mark == "abstract":
            if mark in now.marks:
                yield "is abstract now"
        elif known:
            yield f"is {'' if mark in now.marks else 'no '}{_MARKED[mark]}{_NOW[mark in now.marks]}"
    if was.is_settable and not now.is_settable and now.binding == "property":
        yield "cannot be set any more"
    if now.replaced - was.replaced:
        yield "gets other defaults or code after its definition"


_MARKED: Final = {
    "cache": "cached function",
    "contextmanager": "context manager",
    "asynccontextmanager": "asynchronous context manager",
}
_NOW: Final = {True: " now", False: " any more"}


def _flavour(was: Function, now: Function, name: str) -> str:
    if was.flavour == now.flavour:
        return ""
    if {was.flavour, now.flavour} == _ITERATION:
        plain = was if was.flavour == "function" else now
        # A loop sees no difference in the result of `__iter__`.
        if plain.iterates or name == "__iter__" or (plain is now and plain.iterates is None):
            return ""
    return f"is a {now.flavour} and was a {was.flavour}"


def changed_signature(
    was: Signature, now: Signature, before: State, after: State, body: Function | None = None
) -> Iterator[str]:
    """Yield what callers of a signature can no longer give, or have to give now."""
    places = _positions(now)
    names = {each.name: each for each in now.parameters if each.kind != "position"}
    taken = set[str]()
    for at, each in enumerate(_positions(was)):
        here = places[at] if at < len(places) else None
        if each.kind == "position":
            if here is None and not now.any_positions:
                yield f"takes no `{each.name}` any more"
            elif here is not None:
                taken.add(here.name)
                yield from _default(each, here, before, after, body)
            continue
        same = here if here is not None and here.name == each.name else names.get(each.name)
        if same is not None:
            taken.add(same.name)
        if change := _moved(each, here, same, places, now):
            yield change
        elif same is not None:
            yield from _default(each, same, before, after, body)
    for each in was.parameters:
        if each.kind != "name":
            continue
        same = names.get(each.name)
        if same is not None:
            taken.add(each.name)
            yield from _default(each, same, before, after, body)
        elif not now.any_names:
            yield f"takes no `{each.name}` any more"
    if was.any_positions and not now.any_positions:
        yield "takes no further arguments any more"
    elif was.any_positions and len(places) > len(_positions(was)):
        yield f"takes one of the further arguments as `{places[len(_positions(was))].name}`"
    if was.any_names and not now.any_names:
        yield "takes no further names any more"
    for each in now.parameters:
        if each.default is None and each.name not in taken:
            yield f"needs a new argument, `{each.name}`"


def _moved(
    each: Parameter,
    here: Parameter | None,
    same: Parameter | None,
    places: Sequence[Parameter],
    now: Signature,
) -> str:
    """Return how a parameter can no longer be given by its place or its name."""
    if same is None:
        if now.any_names and (now.any_positions or here is not None):
            return "" if here is None else f"has another parameter in the place of `{each.name}`"
        if now.any_names:
            return f"takes `{each.name}` by its name only"
        if now.any_positions and here is None:
            return f"takes `{each.name}` by its place only"
        return f"takes no `{each.name}` any more"
    if same is here:
        return f"takes `{each.name}` by its place only" if same.kind == "position" else ""
    if same in places:
        return f"takes `{each.name}` in another place"
    return "" if now.any_positions and here is None else f"takes `{each.name}` by its name only"


def _positions(signature: Signature) -> list[Parameter]:
    return [each for each in signature.parameters if each.kind != "name"]


def _default(
    was: Parameter, now: Parameter, before: State, after: State, body: Function | None
) -> Iterator[str]:
    if was.default is None:
        return
    if now.default is None:
        yield f"has no default for `{was.name}` any more"
        return
    old, new = before.written(was.default), after.written(now.default)
    if old == new or {old, new} <= _EMPTY:
        return
    if body is not None and _is_unset(now.default, new):
        # The body says what an argument that was not given stands for.
        values = {after.written(each) for each in body.fallbacks.get(now.name, ())}
        if old in values or (old in _EMPTY and values & _EMPTY):
            return
        if old == "None" and values:
            return
    yield f"has another default for `{was.name}`"


def _is_unset(given: ast.expr, written: str) -> bool:
    """Return whether a default stands for an argument that was not given."""
    if written == "None":
        return True
    return isinstance(given, ast.Name | ast.Attribute) and not isinstance(
        _constant(written), str | int | float
    )


def _constant(written: str) -> object:
    try:
        return ast.literal_eval(written)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
