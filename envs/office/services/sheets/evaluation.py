"""Evaluates formulas for given values of cells.

Values are numbers, texts, truths, dates, None for an empty cell, and errors, which propagate
through everything except COUNT, COUNTA and the branch of an IF that is not taken. Only an empty
cell is converted to 0, and a truth to 1 or 0 in arithmetic: the text "12" is not a number.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, TypeAlias

from .formula import Area, Call, Gone, Literal, Name, Node, Sign

MAX_ROW: Final = 10_000
MAX_COLUMN: Final = 702


@dataclass(frozen=True, slots=True)
class CellError:
    """The content of a cell whose formula has no value."""

    code: str


DIV = CellError("#DIV/0!")
REF = CellError("#REF!")
NAME = CellError("#NAME?")
VALUE = CellError("#VALUE!")
MISSING = CellError("#N/A")
NUM = CellError("#NUM!")
CIRCULAR = CellError("#CIRCULAR!")

Value: TypeAlias = float | str | bool | date | CellError | None
Block: TypeAlias = list[list[Value]]
"""The values of a range, row by row."""

Look: TypeAlias = Callable[[Area], Block | None]
"""Returns the values of a range as far as they exist; None if the sheet does not exist."""

_COMPARE: Final = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(node: Node, look: Look) -> Value:
    """Return the value of a formula; that of an empty cell is 0.

    Args:
        node: The formula.
        look: Where the values of cells come from.
    """
    value = _scalar(node, look)
    return 0.0 if value is None else value


def _scalar(node: Node, look: Look) -> Value:
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Name):
        return NAME
    if isinstance(node, Gone):
        return REF
    if isinstance(node, Area):
        block = _block(node, look)
        if isinstance(block, CellError):
            return block
        return (block[0][0] if block and block[0] else None) if node.single else VALUE
    if isinstance(node, Call):
        function = _FUNCTIONS.get(node.function)
        return NAME if function is None else function(node.arguments, look)
    if isinstance(node, Sign):
        return _arithmetic(node.operator, 0.0, _scalar(node.of, look))
    left, right = _scalar(node.left, look), _scalar(node.right, look)
    if isinstance(left, CellError):
        return left
    if isinstance(right, CellError):
        return right
    if node.operator in _COMPARE:
        return compare(node.operator, left, right)
    return _arithmetic(node.operator, left, right)


def _block(area: Area, look: Look) -> Block | CellError:
    if area.bottom > MAX_ROW or area.right > MAX_COLUMN:
        return REF
    block = look(area)
    return REF if block is None else block


def _arithmetic(symbol: str, left: Value, right: Value) -> Value:
    if isinstance(right, CellError):
        return right
    if isinstance(left, date) or isinstance(right, date):
        return _with_dates(symbol, left, right)
    one, other = _number(left), _number(right)
    if one is None or other is None:
        return VALUE
    if symbol == "/" and other == 0:
        return DIV
    result = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
    }[symbol](one, other)
    return _finite(result)


def _with_dates(symbol: str, left: Value, right: Value) -> Value:
    if isinstance(left, date) and isinstance(right, date):
        return float((left - right).days) if symbol == "-" else VALUE
    if symbol == "+" and isinstance(right, date):
        left, right = right, left
    days = _number(right)
    if symbol not in "+-" or not isinstance(left, date) or days is None:
        return VALUE
    try:
        return left + timedelta(days=math.floor(days if symbol == "+" else -days))
    except OverflowError:
        return NUM


def _number(value: Value) -> float | None:
    if value is None:
        return 0.0
    return float(value) if isinstance(value, bool | int | float) else None


def _finite(number: float) -> Value:
    # Zero has one sign here, so that equal cells have equal hashes.
    return number + 0.0 if math.isfinite(number) else NUM


def compare(symbol: str, left: Value, right: Value) -> Value:
    """Return whether two values compare as an operator says; texts do in any case of letters.

    Values of different kinds are unequal, and have no order.
    """
    left, right = _as_kind(left, right), _as_kind(right, left)
    if isinstance(left, str) and isinstance(right, str):
        left, right = left.casefold(), right.casefold()
    if type(left) is not type(right):
        return {"=": False, "<>": True}.get(symbol, VALUE)
    truth: bool = _COMPARE[symbol](left, right)
    return truth


def _as_kind(value: Value, other: Value) -> Value:
    """Return the empty value of the other's kind in place of an empty cell."""
    if value is not None:
        return value
    return "" if isinstance(other, str) else False if isinstance(other, bool) else 0.0


# --- functions ---------------------------------------------------------------------------------

Arguments: TypeAlias = tuple[Node, ...]
Function: TypeAlias = Callable[[Arguments, Look], Value]


class _Stop(Exception):
    """An error that is the value of the function."""

    def __init__(self, error: CellError) -> None:
        self.error = error


def _stopping(function: Function) -> Function:
    def guarded(arguments: Arguments, look: Look) -> Value:
        try:
            return function(arguments, look)
        except _Stop as stop:
            return stop.error

    return guarded


def _values(arguments: Arguments, look: Look) -> Iterator[tuple[Value, bool]]:
    """Yield every value, and whether it was written into the formula rather than in a cell."""
    if not arguments:
        raise _Stop(VALUE)
    for argument in arguments:
        if isinstance(argument, Area):
            for row in _checked(argument, look):
                yield from ((value, False) for value in row)
        else:
            yield _scalar(argument, look), True


def _numbers(arguments: Arguments, look: Look, dates: bool = False) -> list[float | date]:
    """Return the numbers among values; texts and truths in cells are passed over."""
    found: list[float | date] = []
    for value, written in _values(arguments, look):
        if isinstance(value, CellError):
            raise _Stop(value)
        if isinstance(value, float) or (dates and isinstance(value, date)):
            found.append(value)
        elif written:
            number = _number(value)
            if number is None:
                raise _Stop(VALUE)
            found.append(number)
    if len({type(value) for value in found}) > 1:
        raise _Stop(VALUE)
    return found


def _sum(arguments: Arguments, look: Look) -> Value:
    return _added(_numbers(arguments, look))


def _added(numbers: list[float | date]) -> Value:
    try:
        return _finite(math.fsum(numbers))  # type: ignore[arg-type]
    except OverflowError:
        return NUM


def _average(arguments: Arguments, look: Look) -> Value:
    numbers = _numbers(arguments, look)
    total = _added(numbers)
    return DIV if not numbers else total / len(numbers) if isinstance(total, float) else total


def _extreme(choose: Callable[..., Value]) -> Function:
    def function(arguments: Arguments, look: Look) -> Value:
        return choose(_numbers(arguments, look, dates=True), default=0.0)

    return function


def _count(arguments: Arguments, look: Look) -> Value:
    counted = [v for v, _ in _values(arguments, look) if type(v) in (float, date)]
    return float(len(counted))


def _counta(arguments: Arguments, look: Look) -> Value:
    return float(len([v for v, _ in _values(arguments, look) if v is not None]))


def _countif(arguments: Arguments, look: Look) -> Value:
    block, accepts = _condition(arguments, look, 2, 2)
    return float(sum(accepts(value) for row in block for value in row))


def _sumif(arguments: Arguments, look: Look) -> Value:
    block, accepts = _condition(arguments, look, 2, 3)
    added = _checked(arguments[2], look) if len(arguments) == 3 else block
    found: list[float | date] = []
    for number, row in enumerate(block):
        for place, value in enumerate(row):
            if accepts(value) and number < len(added) and place < len(added[number]):
                other = added[number][place]
                if isinstance(other, CellError):
                    raise _Stop(other)
                if isinstance(other, float):
                    found.append(other)
    return _added(found)


def _condition(
    arguments: Arguments, look: Look, least: int, most: int
) -> tuple[Block, Callable[[Value], bool]]:
    if not least <= len(arguments) <= most:
        raise _Stop(VALUE)
    block, wanted = _checked(arguments[0], look), _scalar(arguments[1], look)
    if isinstance(wanted, CellError):
        raise _Stop(wanted)
    symbol = "="
    if isinstance(wanted, str):
        symbol = next((s for s in ("<>", "<=", ">=", "=", "<", ">") if wanted.startswith(s)), "")
        wanted, symbol = _read(wanted[len(symbol) :]), symbol or "="

    def accepts(value: Value) -> bool:
        if value is None or isinstance(value, CellError):
            return symbol == "<>" and value is None and wanted != ""
        return compare(symbol, value, wanted) is True

    return block, accepts


def _read(text: str) -> Value:
    """Return what a condition such as ``>=5`` compares with."""
    for kind in (float, date.fromisoformat):
        try:
            value: Value = kind(text)
        except ValueError:
            continue
        return value
    return text


def _checked(node: Node, look: Look) -> Block:
    if isinstance(node, Gone):
        raise _Stop(REF)
    if not isinstance(node, Area):
        raise _Stop(VALUE)
    block = _block(node, look)
    if isinstance(block, CellError):
        raise _Stop(block)
    return block


def _if(arguments: Arguments, look: Look) -> Value:
    if len(arguments) not in (2, 3):
        return VALUE
    condition = _scalar(arguments[0], look)
    if isinstance(condition, CellError):
        return condition
    number = _number(condition)
    if number is None:
        return VALUE
    if number:
        return _scalar(arguments[1], look)
    return _scalar(arguments[2], look) if len(arguments) == 3 else False


def _round(arguments: Arguments, look: Look) -> Value:
    if len(arguments) != 2:
        return VALUE
    numbers = []
    for argument in arguments:
        value = _scalar(argument, look)
        if isinstance(value, CellError):
            return value
        number = _number(value)
        if number is None:
            return VALUE
        numbers.append(number)
    number, places = numbers[0], int(max(-400.0, min(400.0, numbers[1])))
    if places > 15 - math.floor(math.log10(abs(number) or 1)):
        return number
    # The decimal digits that are shown are rounded, half away from zero, not the binary ones.
    return _finite(float(Decimal(repr(number)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)))


def _vlookup(arguments: Arguments, look: Look) -> Value:
    if len(arguments) not in (3, 4):
        return VALUE
    key, column = _scalar(arguments[0], look), _scalar(arguments[2], look)
    loose = _scalar(arguments[3], look) if len(arguments) == 4 else False
    for value in (key, column, loose):
        if isinstance(value, CellError):
            return value
    block, number, area = _checked(arguments[1], look), _number(column), arguments[1]
    assert isinstance(area, Area)
    if number is None or number < 1 or loose not in (False, 0.0):
        return VALUE
    if number > area.right - area.left + 1:
        return REF
    for row in block:
        if row and row[0] is not None and compare("=", row[0], key) is True:
            return row[int(number) - 1] if int(number) <= len(row) else None
    return MISSING


_FUNCTIONS: Final[dict[str, Function]] = {
    "SUM": _stopping(_sum),
    "AVERAGE": _stopping(_average),
    "MIN": _stopping(_extreme(min)),
    "MAX": _stopping(_extreme(max)),
    "COUNT": _stopping(_count),
    "COUNTA": _stopping(_counta),
    "COUNTIF": _stopping(_countif),
    "SUMIF": _stopping(_sumif),
    "IF": _if,
    "ROUND": _round,
    "VLOOKUP": _stopping(_vlookup),
}
