"""The free text of a row: what a rubric allows, and what it leaves to other checks.

The schema of a service declares the columns of free text (``FREE TEXT``). A text that an actor put
into such a column is refused unless it is empty or the rubric names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentgym.errors import VerifierError
from agentgym.protocols import Tables
from agentgym.records import RowChange
from agentgym.verify.matching import Matcher, matcher
from agentgym.verify.values import brief


@dataclass(frozen=True, slots=True)
class FreeText:
    """The free texts that a change of a row may bring.

    Attributes:
        texts: Texts by column, as matchers that leave no part of the text open.
        others: Columns that may hold any text here.
    """

    texts: Mapping[str, Matcher]
    others: frozenset[str]

    @property
    def columns(self) -> Iterable[str]:
        """The columns that it names."""
        return (*self.texts, *self.others)

    def refused(self, change: RowChange, tables: Tables) -> list[str]:
        """Return the texts that are not allowed, each with its column."""
        if change.kind == "removed":
            return []
        written = change.row if change.kind == "added" else change.after or {}
        return [
            f"{column} is {brief(written[column])}"
            for column in tables.schema(change.table).texts
            if column in written and not self.allows(column, written[column])
        ]

    def allows(self, column: str, value: object) -> bool:
        """Return whether a column may hold a value."""
        if not isinstance(value, str) or not value.strip() or column in self.others:
            return True
        return column in self.texts and self.texts[column].test(value)


def free_text(
    texts: object, any_text: object, where: Mapping[str, Matcher], joined: Iterable[str]
) -> FreeText:
    """Read which free texts a rubric allows.

    Args:
        texts: Texts by column; a plain text is compared without case, width and spacing.
        any_text: Columns that may hold any text.
        where: Values of the row. If they leave no part of a text open, they allow it.
        joined: Columns that equal a column of another row.

    Raises:
        VerifierError: An argument does not have the expected form, or leaves a text open.
    """
    if not isinstance(texts, Mapping):
        raise VerifierError(f"allowed.texts: expected a table of texts by column, got {texts!r}")
    if isinstance(any_text, str) or not isinstance(any_text, Sequence):
        raise VerifierError(f"allowed.any_text: expected a list of columns, got {any_text!r}")
    named = {}
    for column, wanted in texts.items():
        one = matcher(f"allowed.texts.{column}", _as_texts(wanted))
        if not one.closed:
            raise VerifierError(
                f"allowed.texts.{column}: {one} leaves the rest of the text open; "
                "expected a text, one_of, normal or whole"
            )
        named[column] = one
    closed = {column: one for column, one in where.items() if one.closed}
    return FreeText(closed | named, frozenset(map(str, any_text)) | frozenset(joined))


def _as_texts(wanted: object) -> object:
    if isinstance(wanted, str) and wanted:
        return {"normal": wanted}
    if isinstance(wanted, Sequence) and not isinstance(wanted, str) and wanted:
        return {"one_of": [_as_texts(one) for one in wanted]}
    return wanted
