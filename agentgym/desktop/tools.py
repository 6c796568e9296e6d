"""The tools of a desktop: the verbs of computer use, by point or by reference."""

from __future__ import annotations

from typing import Final

from agentgym.records import Json, ToolSpec

_REF: Final[Json] = {
    "type": "integer",
    "minimum": 1,
    "description": "Reference of an element: the number in brackets in the tree.",
}
_X: Final[Json] = {"type": "number", "description": "Pixels from the left of the picture."}
_Y: Final[Json] = {"type": "number", "description": "Pixels from the top of the picture."}
_BUTTON: Final[Json] = {"enum": ["left", "right", "middle"], "description": "Default left."}
_HELD: Final[Json] = {
    "type": "array",
    "items": {"enum": ["Alt", "Control", "Meta", "Shift"]},
    "maxItems": 4,
    "description": "Keys held meanwhile.",
}
_KEYS: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}
_SECONDS: Final[dict[str, Json]] = {"type": "number", "minimum": 0, "maximum": 10}
_POINT: Final[Json] = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 2,
    "maxItems": 2,
}


def _tool(name: str, description: str, required: tuple[str, ...] = (), **given: Json) -> ToolSpec:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": given,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, description, schema)


TOOLS: Final = (
    _tool(
        "click",
        "Click an element, by its reference or at a point; without either, where the pointer is.",
        ref=_REF,
        x=_X,
        y=_Y,
        button=_BUTTON,
        count={"type": "integer", "minimum": 1, "maximum": 3, "description": "2 double-clicks."},
        modifiers=_HELD,
    ),
    _tool("hover", "Move the pointer over an element or to a point.", ref=_REF, x=_X, y=_Y),
    _tool(
        "drag",
        "Drag with the left button from one element or point to another, or along a path.",
        from_ref=_REF,
        to_ref=_REF,
        from_x=_X,
        from_y=_Y,
        to_x=_X,
        to_y=_Y,
        path={"type": "array", "items": _POINT, "minItems": 2, "maxItems": 50},
        modifiers=_HELD,
    ),
    _tool(
        "scroll",
        "Turn the wheel over an element or a point; without either, where the pointer is.",
        ("direction",),
        ref=_REF,
        x=_X,
        y=_Y,
        direction={"enum": ["up", "down", "left", "right"]},
        amount={
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 100,
            "description": "Clicks of the wheel; default 3.",
        },
        modifiers=_HELD,
    ),
    _tool(
        "type",
        "Type text. With ref, click the element first; a text field is then replaced unless clear "
        "is false. Without ref it goes to what has the focus.",
        ("text",),
        ref=_REF,
        text={"type": "string", "maxLength": 5_000},
        clear={"type": "boolean", "description": "Replace what the field holds; default true."},
        submit={"type": "boolean", "description": "Press Enter afterwards; default false."},
    ),
    _tool(
        "press",
        "Press keys: one such as Enter or Control+S, or several with spaces between them.",
        ("keys",),
        keys=_KEYS,
        ref=_REF,
    ),
    _tool("hold", "Hold keys down for a while.", ("keys", "seconds"), keys=_KEYS, seconds=_SECONDS),
    _tool("key_down", "Press a key that stays down until key_up.", ("key",), key=_KEYS),
    _tool("key_up", "Release a key.", ("key",), key=_KEYS),
    _tool(
        "mouse_down", "Press a button that stays down until mouse_up.", x=_X, y=_Y, button=_BUTTON
    ),
    _tool("mouse_up", "Release a button.", x=_X, y=_Y, button=_BUTTON),
    _tool(
        "wait",
        "Wait while an application works.",
        seconds={**_SECONDS, "description": "Default 1."},
    ),
    _tool(
        "screenshot",
        "Return a picture of the screen; with marks, each element carries its reference.",
        marks={"type": "boolean", "description": "Default false."},
    ),
    _tool(
        "zoom",
        "Return an enlarged picture of a part of the screen.",
        ("x", "y", "width", "height"),
        x=_X,
        y=_Y,
        width={"type": "number", "exclusiveMinimum": 0},
        height={"type": "number", "exclusiveMinimum": 0},
    ),
    _tool("read_clipboard", "Return the text on the clipboard."),
)
"""All tools, in their order."""
