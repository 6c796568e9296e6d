"""The nodes of a page's documents, in the form of the DevTools protocol's DOMSnapshot.

Elements that have a reference carry it as the attribute ``bid``, by which BrowserGym's agents name
elements; the page itself never has it. Format: DOMSnapshot.captureSnapshot of the protocol 1.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentgym.records import Json

_EMPTY: Mapping[str, Any] = {
    "parent": [-1],
    "type": [9],
    "name": ["#document"],
    "value": [""],
    "attributes": [[]],
}


@dataclass(frozen=True, slots=True)
class Document:
    """The nodes of one document.

    Attributes:
        columns: ``parent``, ``type``, ``name``, ``value`` and ``attributes``, one entry a node.
        references: The reference of each node, None if it has none.
        frames: Number of the document that a frame holds, by the frame's node.
    """

    columns: Mapping[str, Any]
    references: Sequence[int | None]
    frames: dict[int, int] = field(default_factory=dict)


def dom_snapshot(documents: Sequence[Document]) -> dict[str, Json]:
    """Return documents as one snapshot; without documents, that of an empty page."""
    strings: dict[str, int] = {}

    def at(text: str) -> int:
        return strings.setdefault(text, len(strings))

    told: list[Json] = []
    for document in documents or [Document(_EMPTY, [None])]:
        columns = document.columns
        attributes: list[Json] = []
        for pairs, reference in zip(columns["attributes"], document.references, strict=True):
            given = [*pairs, *([] if reference is None else [("bid", str(reference))])]
            attributes.append([at(text) for pair in given for text in pair])
        nodes: dict[str, Json] = {
            "parentIndex": list(columns["parent"]),
            "nodeType": list(columns["type"]),
            "nodeName": [at(name) for name in columns["name"]],
            "nodeValue": [at(value) if value else -1 for value in columns["value"]],
            "attributes": attributes,
            "contentDocumentIndex": {
                "index": list(document.frames),
                "value": list(document.frames.values()),
            },
        }
        told.append({"nodes": nodes})
    return {"documents": told, "strings": list(strings)}
