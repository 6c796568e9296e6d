"""Compute formulas whose values a workbook does not hold, as programs do that open it.

Libraries write formulas without values. Arithmetic, comparisons and the functions below are
computed. The reader runs this module in its own process with limits.
"""

import math
import re

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)(?![\w.!])"
    r"|(?P<ref>(?:(?P<sheet>'(?:[^']|'')+'|[A-Za-z_][\w.]*)!)?"
    r"\$?[A-Za-z]{1,3}\$?\d{1,7}(?::\$?[A-Za-z]{1,3}\$?\d{1,7})?)(?![\w(!])"
    r"|(?P<name>[A-Za-z]{2,20})(?=\()"
    r"|(?P<sign><=|>=|<>|[-+*/(),;=<>]))"
)
_MOST_CELLS = 20_000
_MOST_CHARS = 2_000


class Formulas:
    """The formulas of a workbook.

    Args:
        book: The workbook with its formulas.
        held: The same workbook with the values that it holds.
    """

    def __init__(self, book, held):
        self._book, self._held = book, held
        self._found, self._open = {}, set()

    def value(self, sheet, cell):
        """Return the value of a cell, None for an empty one.

        Raises:
            ValueError: It cannot be computed.
        """
        written = self._book[sheet][cell].value
        written = getattr(written, "text", written)  # an array formula is an object
        if not (isinstance(written, str) and written.startswith("=")):
            return written
        if (held := self._held[sheet][cell].value) is not None:
            return held
        place = (sheet, cell)
        if place not in self._found:
            if place in self._open or len(written) > _MOST_CHARS:
                raise ValueError(f"{sheet}!{cell} refers to itself, or is too long")
            self._open.add(place)
            self._found[place] = _Expression(written[1:], sheet, self).result()
            self._open.discard(place)
        return self._found[place]

    def area(self, reference, sheet):
        """Return the values of a reference, row by row."""
        from openpyxl.utils import range_boundaries

        left, top, right, bottom = range_boundaries(reference.replace("$", "").upper())
        if sheet not in self._book.sheetnames or left > right or top > bottom:
            raise ValueError(f"there is no {sheet}!{reference}")
        if (right - left + 1) * (bottom - top + 1) > _MOST_CELLS:
            raise ValueError(f"{reference} has too many cells")
        rows = self._book[sheet].iter_rows(top, bottom, left, right)
        return [[self.value(sheet, cell.coordinate) for cell in row] for row in rows]


class _Expression:
    """One formula, read by recursive descent."""

    def __init__(self, text, sheet, formulas):
        self._sheet, self._formulas = sheet, formulas
        self._tokens, place = [], 0
        text = text.strip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise ValueError(f"cannot read {text[place : place + 20]!r}")
            self._tokens.append(found)
            place = found.end()
        self._next = 0

    def result(self):
        value = _single(self._compared())
        if self._next < len(self._tokens):
            raise ValueError("the formula goes on")
        return value

    def _take(self, *signs):
        """Return the next sign if it is one of these, and go on behind it."""
        if self._next < len(self._tokens):
            sign = self._tokens[self._next]["sign"]
            if sign in signs:
                self._next += 1
                return sign
        return None

    def _compared(self):
        left = self._sum()
        while sign := self._take("=", "<>", "<", ">", "<=", ">="):
            a, b = _number(left), _number(self._sum())
            left = {
                "=": a == b,
                "<>": a != b,
                "<": a < b,
                ">": a > b,
                "<=": a <= b,
                ">=": a >= b,
            }[sign]
        return left

    def _sum(self):
        left = self._product()
        while sign := self._take("+", "-"):
            right = _number(self._product())
            left = _number(left) + (right if sign == "+" else -right)
        return left

    def _product(self):
        left = self._operand()
        while sign := self._take("*", "/"):
            right = _number(self._operand())
            if sign == "/" and not right:
                raise ValueError("a division by zero")
            left = _number(left) * right if sign == "*" else _number(left) / right
        return left

    def _operand(self):
        if sign := self._take("-", "+"):
            value = _number(self._operand())
            return -value if sign == "-" else value
        if self._take("("):
            value = self._compared()
            self._close()
            return value
        if self._next >= len(self._tokens):
            raise ValueError("the formula ends too early")
        token = self._tokens[self._next]
        self._next += 1
        if token["number"]:
            return float(token["number"])
        if token["ref"]:
            return self._reference(token)
        if token["name"]:
            return self._function(token["name"].upper())
        raise ValueError(f"{token[0]!r} is not expected here")

    def _close(self):
        if not self._take(")"):
            raise ValueError("a bracket is not closed")

    def _reference(self, token):
        sheet = token["sheet"]
        if sheet and sheet.startswith("'"):
            sheet = sheet[1:-1].replace("''", "'")
        return self._formulas.area(token["ref"].rpartition("!")[2], sheet or self._sheet)

    def _function(self, name):
        if name not in _FUNCTIONS:
            raise ValueError(f"{name} is not computed")
        self._take("(")
        given = []
        if not self._take(")"):
            given.append(self._compared())
            while self._take(",", ";"):
                given.append(self._compared())
            self._close()
        return _FUNCTIONS[name](*given)


def _single(value):
    """Return the value of a single cell."""
    if not isinstance(value, list):
        return value
    if len(value) != 1 or len(value[0]) != 1:
        raise ValueError("expected one cell")
    return value[0][0]


def _number(value):
    value = _single(value)
    if value is None:
        return 0.0
    if not isinstance(value, (bool, int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def _numbers(given):
    """Return the numbers among arguments; texts and empty cells of ranges do not count."""
    found = []
    for one in given:
        if isinstance(one, list):
            cells = (cell for row in one for cell in row)
            kept = (c for c in cells if isinstance(c, (int, float)) and not isinstance(c, bool))
            found += map(float, kept)
        else:
            found.append(_number(one))
    return found


def _sum_of_products(*areas):
    shapes = {(len(area), len(area[0])) for area in areas if isinstance(area, list)}
    if not areas or len(shapes) != 1 or not all(isinstance(area, list) for area in areas):
        raise ValueError("the areas of SUMPRODUCT differ")
    flat = [[cell for row in area for cell in row] for area in areas]
    products = []
    for cells in zip(*flat, strict=True):
        is_numbers = all(isinstance(c, (int, float)) and not isinstance(c, bool) for c in cells)
        products.append(math.prod(cells) if is_numbers else 0.0)
    return math.fsum(products)


def _rounded(value, digits=0.0):
    number, places = _number(value), int(_number(digits))
    scaled = abs(number) * 10.0**places
    return math.copysign(math.floor(scaled + 0.5 + 1e-9) / 10.0**places, number)


def _average(*given):
    found = _numbers(given)
    if not found:
        raise ValueError("an average of nothing")
    return math.fsum(found) / len(found)


def _choice(test, then, otherwise=0.0):
    return then if _number(test) else otherwise


_FUNCTIONS = {
    "ABS": lambda value: abs(_number(value)),
    "AVERAGE": _average,
    "COUNT": lambda *given: float(len(_numbers(given))),
    "IF": _choice,
    "MAX": lambda *given: max(_numbers(given), default=0.0),
    "MIN": lambda *given: min(_numbers(given), default=0.0),
    "PRODUCT": lambda *given: math.prod(_numbers(given)),
    "ROUND": _rounded,
    "SUM": lambda *given: math.fsum(_numbers(given)),
    "SUMPRODUCT": _sum_of_products,
}
