"""The language of formulas: a small part of what spreadsheets share, as a tree and back as text.

Numbers, texts, TRUE and FALSE, cells and ranges of any sheet, ``+ - * /``, comparisons,
parentheses and functions. Operators bind as in arithmetic, comparisons last, all to the left.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

MAX_LENGTH: Final = 1000
MAX_NESTING: Final = 30
MAX_OPERATORS: Final = 150


class FormulaError(Exception):
    """A text is no formula; the message says where."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A number that is not negative, a text, or a truth."""

    value: float | str | bool


@dataclass(frozen=True, slots=True)
class Area:
    """A cell, or a rectangle of cells; rows and columns count from 1.

    Attributes:
        sheet: Name of the sheet, None for the formula's own.
        top: First row.
        left: First column.
        bottom: Last row.
        right: Last column.
        single: Whether it was written as one cell.
        pinned: Which of top, left, bottom and right have a ``$`` and stay when it is copied.
    """

    sheet: str | None
    top: int
    left: int
    bottom: int
    right: int
    single: bool
    pinned: tuple[bool, bool, bool, bool] = (False, False, False, False)


@dataclass(frozen=True, slots=True)
class Gone:
    """Cells that were named and are no longer there."""


@dataclass(frozen=True, slots=True)
class Name:
    """A word that stands for nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class Sign:
    """Plus or minus before something."""

    operator: str
    of: Node


@dataclass(frozen=True, slots=True)
class Operation:
    """Two things with an operator between them."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function, its name in capitals, of arguments."""

    function: str
    arguments: tuple[Node, ...]


Node: TypeAlias = Literal | Area | Gone | Name | Sign | Operation | Call

_LEVELS: Final = (("=", "<>", "<=", ">=", "<", ">"), ("+", "-"), ("*", "/"))
_TOKEN: Final = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r'|(?P<text>"(?:[^"]|"")*")'
    r"|(?P<area>(?:(?:'[^']+'|[A-Za-z_]\w*)!)?\$?[A-Za-z]{1,3}\$?[1-9]\d{0,6}"
    r"(?::\$?[A-Za-z]{1,3}\$?[1-9]\d{0,6})?(?![\w.(!]))"
    r"|(?P<gone>#REF!)"
    r"|(?P<word>[A-Za-z_][\w.]*)"
    r"|(?P<symbol><>|<=|>=|[-+*/=<>(),])"
)
_CELL: Final = re.compile(r"(\$?)([A-Za-z]{1,3})(\$?)([1-9]\d{0,6})")
_PLAIN_SHEET: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def column_letters(column: int) -> str:
    """Return ``A`` for 1, ``AA`` for 27."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """Return 1 for ``A``, 27 for ``AA``."""
    return functools.reduce(lambda n, letter: 26 * n + ord(letter) - 64, letters.upper(), 0)


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Node:
    """Return the tree of a formula.

    Args:
        text: The formula, with its ``=``.

    Raises:
        FormulaError: The text is not a formula.

    Example:
        >>> write(parse("=(1+b2) *sum('Q 1'!a1:a9)"))
        "=(1+B2)*SUM('Q 1'!A1:A9)"
    """
    if not text.startswith("="):
        raise FormulaError("a formula begins with '='")
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"{len(text)} characters; expected at most {MAX_LENGTH}")
    return _Parser(text).whole()


def parse_area(text: str) -> Area:
    """Return the cells that ``B2``, ``B2:D9`` or ``'Q 1'!B2:D9`` refers to.

    Raises:
        FormulaError: The text has none of these forms.
    """
    match = _TOKEN.fullmatch(text)
    if match is None or match.lastgroup != "area":
        raise FormulaError("expected cells such as B2, B2:D9 or Sheet!B2:D9")
    return _area(text)


def _area(text: str) -> Area:
    sheet, mark, cells = text.rpartition("!")
    corners = _CELL.findall(cells)
    rows = sorted((int(row), bool(pin)) for *_, pin, row in corners)
    columns = sorted((column_number(letters), bool(pin)) for pin, letters, *_ in corners)
    (top, top_pin), (left, left_pin) = rows[0], columns[0]
    (bottom, bottom_pin), (right, right_pin) = rows[-1], columns[-1]
    name = sheet.strip("'") if mark else None
    pinned = top_pin, left_pin, bottom_pin, right_pin
    return Area(name, top, left, bottom, right, len(corners) == 1, pinned)


class _Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        self._at = self._depth = self._operators = 0
        position = 1
        while rest := text[position:].lstrip(" \t\n"):
            position = len(text) - len(rest)
            match = _TOKEN.match(text, position)
            if match is None:
                raise FormulaError(f"character {position + 1}: {text[position]!r} has no meaning")
            assert match.lastgroup is not None
            self._tokens.append((match.lastgroup, match[0]))
            position = match.end()

    def whole(self) -> Node:
        node = self._level(0)
        if self._at < len(self._tokens):
            raise FormulaError(f"{self._tokens[self._at][1][:40]!r} is not expected there")
        return node

    def _level(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._signed()
        node = self._level(level + 1)
        while operator := self._take(*_LEVELS[level]):
            self._count()
            node = Operation(operator, node, self._level(level + 1))
        return node

    def _signed(self) -> Node:
        signs = []
        while operator := self._take("+", "-"):
            self._count()
            signs.append(operator)
        node = self._atom()
        for operator in reversed(signs):
            node = Sign(operator, node)
        return node

    def _atom(self) -> Node:
        if self._at == len(self._tokens):
            raise FormulaError("it ends where a value is expected")
        kind, text = self._tokens[self._at]
        if kind == "symbol" and text != "(":
            raise FormulaError(f"{text!r} where a value is expected")
        self._at += 1
        if kind == "symbol":
            node = self._nested()
            self._expect(")")
            return node
        if kind == "number":
            if float(text) == float("inf"):
                raise FormulaError(f"{text[:40]} is too large")
            return Literal(float(text))
        if kind == "text":
            return Literal(text[1:-1].replace('""', '"'))
        if kind == "area":
            return _area(text)
        if kind == "gone":
            return Gone()
        if self._take("("):
            return Call(text.upper(), self._arguments())
        if text.upper() in ("TRUE", "FALSE"):
            return Literal(text.upper() == "TRUE")
        return Name(text)

    def _arguments(self) -> tuple[Node, ...]:
        if self._take(")"):
            return ()
        found = [self._nested()]
        while self._take(","):
            found.append(self._nested())
        self._expect(")")
        return tuple(found)

    def _nested(self) -> Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise FormulaError(f"nested more than {MAX_NESTING} deep")
        node = self._level(0)
        self._depth -= 1
        return node

    def _count(self) -> None:
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            raise FormulaError(f"more than {MAX_OPERATORS} operators")

    def _take(self, *symbols: str) -> str | None:
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "symbol":
            text = self._tokens[self._at][1]
            if text in symbols:
                self._at += 1
                return text
        return None

    def _expect(self, symbol: str) -> None:
        if not self._take(symbol):
            seen = self._tokens[self._at][1][:40] if self._at < len(self._tokens) else "the end"
            raise FormulaError(f"expected {symbol!r}, got {seen!r}")


def write(node: Node) -> str:
    """Return a formula as text, with as few parentheses as it can do with."""
    return "=" + _written(node, 0)


def write_area(area: Area) -> str:
    """Return cells as a formula names them."""
    top, left, bottom, right = ("$" if pin else "" for pin in area.pinned)
    text = f"{left}{column_letters(area.left)}{top}{area.top}"
    if not area.single:
        text += f":{right}{column_letters(area.right)}{bottom}{area.bottom}"
    if area.sheet is None:
        return text
    plain = _PLAIN_SHEET.fullmatch(area.sheet)
    return f"{area.sheet}!{text}" if plain else f"'{area.sheet}'!{text}"


def _written(node: Node, level: int) -> str:
    if isinstance(node, Literal):
        return _literal(node.value)
    if isinstance(node, Area):
        return write_area(node)
    if isinstance(node, Gone):
        return "#REF!"
    if isinstance(node, Name):
        return node.text
    if isinstance(node, Call):
        return f"{node.function}({','.join(_written(a, 0) for a in node.arguments)})"
    if isinstance(node, Sign):
        return node.operator + _written(node.of, len(_LEVELS))
    own = next(n for n, operators in enumerate(_LEVELS) if node.operator in operators)
    text = _written(node.left, own) + node.operator + _written(node.right, own + 1)
    return f"({text})" if own < level else text


def _literal(value: float | str | bool) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return repr(value).removesuffix(".0")


def areas(node: Node) -> list[Area]:
    """Return every cell and range that a formula names."""
    if isinstance(node, Area):
        return [node]
    if isinstance(node, Sign):
        return areas(node.of)
    if isinstance(node, Operation):
        return areas(node.left) + areas(node.right)
    return [a for n in node.arguments for a in areas(n)] if isinstance(node, Call) else []


def mapped(node: Node, change: Callable[[Area], Node]) -> Node:
    """Return a formula with every cell and range in it changed."""
    if isinstance(node, Area):
        return change(node)
    if isinstance(node, Sign):
        return Sign(node.operator, mapped(node.of, change))
    if isinstance(node, Operation):
        return Operation(node.operator, mapped(node.left, change), mapped(node.right, change))
    if isinstance(node, Call):
        return Call(node.function, tuple(mapped(n, change) for n in node.arguments))
    return node
