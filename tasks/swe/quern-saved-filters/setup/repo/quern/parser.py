"""Parses filters: `or` of `and` of `not` of comparisons, `has`, constants and parentheses."""

from quern.errors import FilterError
from quern.nodes import And, Comparison, Constant, Filter, Has, Not, Or
from quern.tokens import Token, tokens


def parse(text: str) -> Filter:
    """Return the filter that a text stands for. An empty text matches all records.

    Raises:
        FilterError: The text is no filter.
    """
    if not text.strip():
        return Constant(True)
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(tokens(text))
        self._next = 0

    def whole(self) -> Filter:
        found = self._either()
        if self._peek().kind != "end":
            raise self._unexpected("and, or, or the end")
        return found

    def _either(self) -> Filter:
        parts = [self._both()]
        while self._take("keyword", "or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _both(self) -> Filter:
        parts = [self._negated()]
        while self._take("keyword", "and"):
            parts.append(self._negated())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negated(self) -> Filter:
        if self._take("keyword", "not"):
            return Not(self._negated())
        return self._single()

    def _single(self) -> Filter:
        if self._take("bracket", "("):
            found = self._either()
            if not self._take("bracket", ")"):
                raise self._unexpected("a closing parenthesis")
            return found
        for word, value in (("always", True), ("never", False)):
            if self._take("keyword", word):
                return Constant(value)
        if self._take("keyword", "has"):
            return Has(self._field())
        return self._comparison()

    def _comparison(self) -> Filter:
        field = self._field()
        operator = self._peek()
        if operator.kind != "operator":
            raise self._unexpected("a comparison")
        self._next += 1
        value = self._peek()
        if value.kind not in ("number", "word", "text"):
            raise self._unexpected("a value")
        self._next += 1
        return Comparison(field, operator.text, value.value)

    def _field(self) -> str:
        token = self._peek()
        if token.kind != "word":
            raise self._unexpected("the name of a field")
        self._next += 1
        return token.text

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self, kind: str, text: str) -> bool:
        token = self._peek()
        if (token.kind, token.text) != (kind, text):
            return False
        self._next += 1
        return True

    def _unexpected(self, wanted: str) -> FilterError:
        token = self._peek()
        seen = token.text or "the end"
        return FilterError(f"expected {wanted}, got {seen}", self._text, token.at)
