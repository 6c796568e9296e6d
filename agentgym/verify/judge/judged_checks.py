"""Find the checks that ask a judge, before a run starts that would be wasted without one.

A check declares nothing, so its code is searched: it asks a judge if it, or a function of the same
module that it calls, reads an attribute ``judge``.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from agentgym.errors import VerifierError
from agentgym.manifest import read_text
from agentgym.verify.rubric.packs import find_check

_ASKS = "judge"


def asks_judge(check: Callable[..., Any]) -> bool:
    """Return whether a check may ask a judge."""
    seen: set[int] = set()
    waiting: list[Any] = [check]
    while waiting:
        function = waiting.pop()
        if id(function) in seen or not hasattr(function, "__code__"):
            continue
        seen.add(id(function))
        names = set(_names(function.__code__))
        if _ASKS in names:
            return True
        scope: dict[str, Any] = function.__globals__
        named = [scope[name] for name in names if name in scope]
        waiting += [other for other in named if getattr(other, "__globals__", None) is scope]
    return False


@functools.lru_cache(maxsize=256)
def _rubric(text: str) -> dict[str, Any]:
    """Return what a rubric says, for reading alone: every episode asks."""
    return tomllib.loads(text)


def judged_checks(checks_folder: Path, *, demanded: bool = False) -> list[str]:
    """Return the checks of a rubric that ask a judge, by their names in ``use``.

    Args:
        checks_folder: The task's ``checks`` folder.
        demanded: Return only those that the rubric cannot do without: leave out checkpoints that
            are ``only_if_judged`` and conditions that no other checkpoint uses.

    Raises:
        VerifierError: The rubric cannot be read, or a check in it does not exist.
    """
    path = checks_folder / "rubric.toml"
    try:
        rubric = _rubric(read_text(path, VerifierError))
    except ValueError as error:
        raise VerifierError(f"{path}: {error}") from error
    tables = list(_tables(rubric, demanded))
    if demanded:
        named = {name for table in tables for name in _conditions(table)}
        unnamed = [c for c in _list(rubric.get("condition")) if _id(c) not in named]
        tables = [table for table in tables if not any(table is one for one in unnamed)]
    uses = dict.fromkeys(table["use"] for table in tables if isinstance(table.get("use"), str))
    return [use for use in uses if asks_judge(find_check(use, checks_folder))]


def _tables(value: object, demanded: bool) -> Iterator[dict[str, Any]]:
    """Yield the tables of a rubric of every kind, without the arguments of checks."""
    if isinstance(value, list):
        for inner in value:
            yield from _tables(inner, demanded)
    elif isinstance(value, dict) and not (demanded and value.get("only_if_judged") is True):
        yield value
        for key, inner in value.items():
            if key != "with":
                yield from _tables(inner, demanded)


def _conditions(table: dict[str, Any]) -> Iterator[object]:
    for key in ("only_if", "unless", "uncontrollable_if"):
        yield from (name for name in _list(table.get(key)) if isinstance(name, str))


def _id(condition: object) -> object:
    return condition.get("id") if isinstance(condition, dict) else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
