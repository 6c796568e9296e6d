"""Reads Python that calls functions with plain values: parsed with `ast`, never executed.

Understood are calls, assignments of numbers and texts to names, arithmetic with + - * / //, `for`
over a range or a list, `with` around a call, `pass` and imports; settings of a module are ignored.
Anything else is refused, as is a program that does too much.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentgym.errors import ActionError
from agentgym.python_source import parse_python, shown_python

_MOST_CHARS: Final = 100_000
_MOST_STATEMENTS: Final = 1_000
_MOST_VALUE: Final = 1e9
_MOST_TEXT: Final = 20_000
_OPERATORS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True, slots=True)
class Called:
    """A call in the order of execution.

    Attributes:
        name: The function with its module, such as ``pyautogui.click``.
        positional: Arguments by place.
        named: Arguments by name.
        block: ``"enter"`` or ``"leave"`` if the call is that of a `with`, else empty.
    """

    name: str
    positional: tuple[Any, ...]
    named: Mapping[str, Any]
    block: str = ""


@dataclass
class _Reading:
    known: dict[str, Any] = field(default_factory=dict)
    left: int = _MOST_STATEMENTS


def read_calls(text: str, modules: Mapping[str, str]) -> list[Called]:
    """Return the calls of a program in the order in which Python would make them.

    Args:
        text: The program, also within a Markdown code block.
        modules: Modules that may be imported, each with the name by which it is called.

    Raises:
        ActionError: The program is no Python, or does something that is not understood.
    """
    if len(text) > _MOST_CHARS:
        raise ActionError(f"{len(text)} characters of code are too many; {_MOST_CHARS} are allowed")
    reading = _Reading({name: _Module(path) for name, path in modules.items()})
    try:
        return list(_block(parse_python(_plain(text)).body, reading))
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise ActionError(f"this is no Python that can be read: {str(error)[:200]}") from None
    except (TypeError, ZeroDivisionError) as error:
        raise ActionError(f"a value cannot be computed: {str(error)[:200]}") from None


@dataclass(frozen=True, slots=True)
class _Module:
    """A module or a function of one, by its path."""

    path: str


def _plain(text: str) -> str:
    stripped = text.strip()
    if not stripped.startswith("```"):
        return stripped
    _, _, body = stripped.partition("\n")
    return body.rpartition("```")[0] if "```" in body else body


def _block(body: list[ast.stmt], reading: _Reading) -> Iterator[Called]:
    for statement in body:
        reading.left -= 1
        if reading.left < 0:
            raise ActionError(f"more than {_MOST_STATEMENTS} statements are too many")
        yield from _statement(statement, reading)


def _statement(statement: ast.stmt, reading: _Reading) -> Iterator[Called]:
    match statement:
        case ast.Expr(value=ast.Call() as call):
            yield _call(call, reading)
        case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
            pass
        case ast.Assign(targets=[target], value=value):
            _assign(target, _value(value, reading), reading)
        case ast.For(orelse=[], body=body, target=target, iter=source):
            for item in _items(source, reading):
                _assign(target, item, reading)
                yield from _block(body, reading)
        case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)], body=body):
            made = _call(call, reading)
            yield Called(made.name, made.positional, made.named, "enter")
            yield from _block(body, reading)
            yield Called(made.name, made.positional, made.named, "leave")
        case ast.Import(names=names):
            for name in names:
                _import(name.name, name.asname or name.name, reading)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            for name in names:
                _import(f"{module}.{name.name}", name.asname or name.name, reading)
        case _:
            raise _unknown(statement)


def _import(path: str, name: str, reading: _Reading) -> None:
    known = {value.path for value in reading.known.values() if isinstance(value, _Module)}
    if path.split(".")[0] not in known:
        raise ActionError(f"{path[:60]!r} cannot be imported; there is: {', '.join(sorted(known))}")
    reading.known[name] = _Module(path)


def _assign(target: ast.expr, value: Any, reading: _Reading) -> None:
    match target:
        case ast.Name(id=name):
            reading.known[name] = value
        case ast.Tuple(elts=parts) if isinstance(value, tuple | list) and len(parts) == len(value):
            for part, own in zip(parts, value, strict=True):
                _assign(part, own, reading)
        # A setting such as pyautogui.PAUSE: what is done here has its own pace.
        case ast.Attribute(value=ast.Name(id=name)) if isinstance(reading.known.get(name), _Module):
            pass
        case _:
            raise _unknown(target)


def _items(source: ast.expr, reading: _Reading) -> list[Any] | range:
    match source:
        case ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[]):
            bounds = [_value(argument, reading) for argument in arguments]
            if not all(type(bound) is int for bound in bounds) or not 1 <= len(bounds) <= 3:
                raise _unknown(source)
            return range(*bounds)
    value = _value(source, reading)
    if not isinstance(value, list | tuple):
        raise _unknown(source)
    return list(value)


def _call(call: ast.Call, reading: _Reading) -> Called:
    if any(keyword.arg is None for keyword in call.keywords):
        raise _unknown(call)
    named = {str(keyword.arg): _value(keyword.value, reading) for keyword in call.keywords}
    positional = list[Any]()
    for argument in call.args:
        if isinstance(argument, ast.Starred):
            spread = _value(argument.value, reading)
            positional += spread if isinstance(spread, list | tuple) else [spread]
        else:
            positional.append(_value(argument, reading))
    return Called(_path(call.func, reading), tuple(positional), named)


def _path(function: ast.expr, reading: _Reading) -> str:
    match function:
        case ast.Name(id=name) if isinstance(found := reading.known.get(name), _Module):
            return found.path
        case ast.Attribute(value=value, attr=name):
            return f"{_path(value, reading)}.{name}"
    raise _unknown(function)


def _value(node: ast.expr, reading: _Reading) -> Any:
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, str | int | float):
            return _bounded(value)
        case ast.Name(id=name) if name in reading.known:
            value = reading.known[name]
            if not isinstance(value, _Module):
                return value
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, reading) for part in parts]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _bounded(-_number(_value(operand, reading)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            one, other = _value(left, reading), _value(right, reading)
            if not (isinstance(op, ast.Add) and isinstance(one, str) and isinstance(other, str)):
                one, other = _number(one), _number(other)
            return _bounded(_OPERATORS[type(op)](one, other))
    raise _unknown(node)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ActionError(f"arithmetic is for numbers, got a {type(value).__name__}")
    return value


def _bounded(value: Any) -> Any:
    """Return a value that is neither too large nor too long."""
    if isinstance(value, str) and len(value) > _MOST_TEXT:
        raise ActionError(f"a text of {len(value)} characters is too long")
    if isinstance(value, int | float) and not abs(value) <= _MOST_VALUE:
        raise ActionError("a number is too large")
    return value


def _unknown(node: ast.AST) -> ActionError:
    shown = shown_python(node)[:120]
    return ActionError(f"only calls with plain values are understood, got {shown!r}")
