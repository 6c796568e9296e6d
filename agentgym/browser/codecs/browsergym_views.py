"""Pages as BrowserGym shows them: an accessibility tree of the DevTools protocol, and properties.

The form is that of browsergym-core 0.14 (browsergym/core/observation.py): what its functions
`flatten_axtree_to_str`, `flatten_dom_to_str` and `overlay_som` read. A ``bid`` is a reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentgym.browser.view import PageView
from agentgym.records import Json

_ROLES: Final = {
    "text": "StaticText",
    "iframe": "Iframe",
    "file": "button",
    "date": "Date",
    "time": "InputTime",
    "datetime": "DateTime",
    "color": "ColorWell",
    "graphic": "image",
    "scrollable": "group",
}
_TOGGLES: Final = frozenset(
    ("checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio", "treeitem")
)
_CHOSEN: Final = frozenset(("option", "tab", "row", "gridcell"))
_MARKED: Final = frozenset(
    (
        *("button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "listbox"),
        *("option", "slider", "spinbutton", "switch", "tab", "menuitem", "file", "color", "date"),
        *("time", "datetime", "month", "week", "clickable", "iframe", "video", "gridcell"),
    )
)
_FLAGS: Final = {"disabled": "disabled", "required": "required", "focused": "focused"} | {
    "readonly": "readonly",
    "invalid": "invalid",
    "multiple": "multiselectable",
}
_UNSEEN: Final = frozenset(("hidden", "offscreen"))


def axtree_of(view: PageView) -> dict[str, Json]:
    """Return the tree of a page as the nodes of an accessibility tree."""
    root = _node("1", "RootWebArea", view.title)
    root["properties"] = [_property("focused", view.focused is None)]
    nodes, above = [root], [root]
    for number, node in enumerate(view.nodes, 2):
        made = _node(str(number), _ROLES.get(node["r"], node["r"]), node["n"])
        if "ref" in node:
            made["browsergym_id"] = str(node["ref"])
        if "v" in node:
            made["value"] = {"type": "string", "value": node["v"]}
        made["properties"] = _properties(node)
        del above[int(node["d"]) + 1 :]
        made["parentId"] = above[-1]["nodeId"]
        above[-1]["childIds"].append(made["nodeId"])
        above.append(made)
        nodes.append(made)
    return {"nodes": list[Json](nodes)}


def properties_of(nodes: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    """Return visibility, box and use of the elements, by bid."""
    return {str(node["ref"]): _use(node) for node in nodes if "ref" in node}


def _use(node: Mapping[str, Any]) -> dict[str, Json]:
    box = node.get("b", (0, 0, 0, 0))
    placed = box[2] > 0 and box[3] > 0
    seen = placed and not _UNSEEN & set(node.get("f", ()))
    acts = node["r"] in _MARKED
    return {
        "visibility": 1.0 if seen else 0.0,
        "bbox": [float(side) for side in box] if placed else None,
        "clickable": acts,
        "set_of_marks": acts and seen,
    }


def _node(number: str, role: str, name: str) -> dict[str, Any]:
    return {
        "nodeId": number,
        "ignored": False,
        "role": {"type": "role", "value": role},
        "name": {"type": "computedString", "value": name},
        "childIds": [],
    }


def _property(name: str, value: Json) -> dict[str, Json]:
    kind = "boolean" if isinstance(value, bool) else "token"
    return {"name": name, "value": {"type": kind, "value": value}}


def _properties(node: Mapping[str, Any]) -> list[Json]:
    flags, told = node.get("f", ()), []
    if "l" in node:
        told.append(_property("level", node["l"]))
    if "h" in node:
        told.append(_property("url", node["h"]))
    told += [_property(name, True) for flag, name in _FLAGS.items() if flag in flags]
    if node["r"] in _TOGGLES or "checked" in flags or "mixed" in flags:
        state = "mixed" if "mixed" in flags else str("checked" in flags).lower()
        told.append(_property("checked", state))
    if node["r"] in _CHOSEN:
        told.append(_property("selected", "selected" in flags))
    if "expanded" in flags or "collapsed" in flags:
        told.append(_property("expanded", "expanded" in flags))
    bounds = zip(("valuemin", "valuemax"), node.get("g", ()), strict=False)
    told += [_property(name, bound) for name, bound in bounds if bound not in ("", None)]
    return list[Json](told)
