"""The numbers by which an agent names elements, kept by the host.

An element gets its number when it is first seen, in the order of the document, and keeps it. An
element that the page has rendered again takes over the number of its predecessor, if both are the
only ones of their identity: the same role, name and attributes within the same list item or row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_LABEL_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Handle:
    """The place at which an element is found again.

    Attributes:
        frame: The frame's id in the DevTools protocol.
        document: Token of the document in that frame.
        number: The element's number in that document.
        label: Role and name, for messages.
    """

    frame: str
    document: str
    number: int
    label: str


class References:
    """The references of one browser context."""

    def __init__(self) -> None:
        self._last = 0
        self._handles: dict[int, Handle] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._identities: dict[str, dict[int, str]] = {}

    def find(self, reference: int) -> Handle | None:
        """Return where an element is; None if no element ever had this reference."""
        return self._handles.get(reference)

    def reference(self, document: str, number: int) -> int | None:
        """Return the reference of an element; None if it has none."""
        return self._numbers.get((document, number))

    @property
    def last(self) -> int:
        """The largest reference that was given."""
        return self._last

    def renumber(self, numbers: Mapping[int, int], last: int) -> None:
        """Give the elements other references, as those of the context that was forked.

        Args:
            numbers: The new reference by the present one; others are forgotten.
            last: The largest reference that was given there.
        """
        self._handles = {new: self._handles[old] for old, new in numbers.items()}
        self._numbers = {
            (handle.document, handle.number): new for new, handle in self._handles.items()
        }
        self._last = last

    def assign(
        self, frame: str, document: str, nodes: Sequence[dict[str, Any]], gone: Sequence[int]
    ) -> None:
        """Give the nodes of a document their references, as ``node["ref"]``.

        Args:
            frame: Id of the frame.
            document: Token of its document.
            nodes: Its nodes in order; those with ``i`` are elements.
            gone: Numbers of elements that have left the document.
        """
        identities = self._identities.setdefault(document, {})
        vanished = self._vanished(document, identities, gone)
        elements = [node for node in nodes if "i" in node]
        fresh = Counter(
            node["k"] for node in elements if (document, node["i"]) not in self._numbers
        )
        still = {node["k"] for node in elements if (document, node["i"]) in self._numbers}
        for node in elements:
            number, identity = node["i"], node["k"]
            known = self._numbers.get((document, number))
            if known is None:
                heir = vanished.get(identity, [])
                alone = len(heir) == 1 and fresh[identity] == 1 and identity not in still
                known = heir[0] if alone else self._next()
                self._numbers[document, number] = known
            label = f"{node['r']} {node['n']!r}" if node["n"] else node["r"]
            self._handles[known] = Handle(frame, document, number, label[:_LABEL_CHARS])
            identities[number] = identity
            node["ref"] = known

    def _vanished(
        self, document: str, identities: dict[int, str], gone: Sequence[int]
    ) -> dict[str, list[int]]:
        """Return the references of elements that left, by identity, and forget their numbers."""
        vanished: dict[str, list[int]] = {}
        for number in gone:
            identity = identities.pop(number, None)
            reference = self._numbers.pop((document, number), None)
            if identity is not None and reference is not None:
                vanished.setdefault(identity, []).append(reference)
        return vanished

    def _next(self) -> int:
        self._last += 1
        return self._last
