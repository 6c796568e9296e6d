"""Trees of elements: as lines of text and as JSON, within a budget.

A node is a mapping with short keys: ``r`` role, ``n`` name, ``d`` depth, ``ref`` reference (a plain
text has none), ``v`` value, ``b`` box as x, y, width and height, ``f`` flags, ``h`` address,
``l`` level, ``c`` colour, ``g`` range, ``y`` how far it is scrolled, ``s`` shape, ``w`` message.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from agentgym import comparison
from agentgym.records import Json

_KEYS: Final = {"r": "role", "n": "name", "d": "depth", "v": "value", "b": "box", "h": "url"}
_VALUE_CHARS: Final = 600
_UNSTABLE: Final = frozenset(("covered", "offscreen", "focused"))
_COMPARISONS: Final = 1_000_000
"""Pairs of lines that may be compared, about a tenth of a second."""
_NAMELESS: Final = frozenset(("list", "row", "table", "group", "listitem", "scrollable"))


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of one tree.

    Attributes:
        nodes: Largest number of nodes.
        text_bytes: Bytes of the text.
        ms: Milliseconds that reading one document may take.
        chars: Characters of a name; texts and values may have four times as many.
    """

    nodes: int = 1_000
    text_bytes: int = 60_000
    ms: int = 2_000
    chars: int = 150


def tree_lines(nodes: Sequence[Mapping[str, Any]], page: str = "") -> list[str]:
    """Return a tree as text, one line for each node.

    Args:
        nodes: The nodes in order.
        page: Address of the page, whose origin is left out of links.
    """
    duplicates = _duplicates(nodes)
    return [_line(node, page, duplicates) for node in nodes]


def tree_data(nodes: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Return a tree as JSON."""
    duplicates = _duplicates(nodes)
    return [_as_json(node, duplicates) for node in nodes]


def digest_of(nodes: Sequence[Mapping[str, Any]], scroll: Sequence[int]) -> str:
    """Return a hash of what an agent can see, without references and places."""
    seen = [
        (n["r"], n["n"], n["d"], n.get("v"), [f for f in n.get("f", ()) if f not in _UNSTABLE])
        + ((n.get("h"), n.get("c"), n.get("y")),)
        for n in nodes
    ]
    return hashlib.sha256(json.dumps([seen, list(scroll)]).encode()).hexdigest()


def bounded_lines(lines: Sequence[str], cut: int, most_bytes: int) -> tuple[list[str], int]:
    """Return the first lines, of bounded size, and how many nodes are left out."""
    size, kept = 0, 0
    for line in lines:
        size += len(line.encode()) + 1
        if size > most_bytes:
            break
        kept += 1
    left = cut + len(lines) - kept
    shown = list(lines[:kept])
    if left:
        shown.append(f"  (truncated: {left} more nodes)")
    return shown, left


def changed_lines(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the lines that left and came, marked by ``-`` and ``+``; one line if none did.

    All lines left and came if comparing them takes too long, which a page can bring about.
    """
    matcher = comparison.Matcher(before, after, comparison.Budget(_COMPARISONS))
    changed: list[str] = []
    try:
        for tag, left, left_end, came, came_end in matcher.get_opcodes():
            if tag != "equal":
                changed += [f"-{line}" for line in before[left:left_end]]
                changed += [f"+{line}" for line in after[came:came_end]]
    except comparison.BudgetSpentError:
        changed = [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    return changed or ["  (nothing)"]


def _duplicates(nodes: Sequence[Mapping[str, Any]]) -> frozenset[tuple[str, str]]:
    counts = Counter((n["r"], n["n"]) for n in nodes if "ref" in n and n["n"])
    return frozenset(pair for pair, count in counts.items() if count > 1)


def _flags(node: Mapping[str, Any], duplicates: frozenset[tuple[str, str]]) -> list[str]:
    flags = list(node.get("f", ()))
    if "ref" in node and (node["r"], node["n"]) in duplicates and node["r"] not in _NAMELESS:
        flags.append("duplicate")
    return flags


def _line(node: Mapping[str, Any], page: str, duplicates: frozenset[tuple[str, str]]) -> str:
    indent = "  " * (int(node["d"]) + 1)
    if "ref" not in node:
        return f"{indent}text {_quoted(node['n'])}"
    role = node["s"] if node["r"] == "graphic" else node["r"]
    parts = [f"[{node['ref']}]", role]
    if node["n"]:
        parts.append(_quoted(node["n"]))
    if "l" in node:
        parts.append(f"level={node['l']}")
    if "v" in node:
        value = node["v"]
        cut = f" ({len(value)} characters)" if len(value) > _VALUE_CHARS else ""
        parts.append(f"value={_quoted(value[:_VALUE_CHARS])}{cut}")
    if "g" in node:
        bounds = zip(("min", "max", "step"), node["g"], strict=False)
        parts += [f"{name}={bound}" for name, bound in bounds if bound not in ("", None)]
    if "c" in node:
        parts.append(f"color={node['c'].replace(' ', '')}")
    if "y" in node:
        parts.append(f"scrolled={node['y'][0]}/{node['y'][1]}")
    parts += _flags(node, duplicates)
    if "w" in node:
        parts.append(f"message={_quoted(node['w'])}")
    if "h" in node:
        parts.append(f"-> {_short(node['h'], page)}")
    return indent + " ".join(parts)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _short(url: str, page: str) -> str:
    """Return a link's address, without the origin if it is the page's."""
    try:
        there, here = urlsplit(url), urlsplit(page)
    except ValueError:
        return url[:300]
    if (there.scheme, there.netloc) != (here.scheme, here.netloc):
        return url[:300]
    rest = there.path + (f"?{there.query}" if there.query else "")
    return (rest + (f"#{there.fragment}" if there.fragment else ""))[:300] or "/"


def _as_json(node: Mapping[str, Any], duplicates: frozenset[tuple[str, str]]) -> Json:
    told: dict[str, Json] = {"ref": node.get("ref")}
    told |= {name: node[key] for key, name in _KEYS.items() if key in node}
    told |= dict.fromkeys(_flags(node, duplicates), True)
    for key, name in (("l", "level"), ("c", "color"), ("s", "shape"), ("w", "message")):
        if key in node:
            told[name] = node[key]
    if "g" in node:
        told["range"] = [str(bound) for bound in node["g"]]
    if "y" in node:
        told["scrolled"] = node["y"]
    return told
