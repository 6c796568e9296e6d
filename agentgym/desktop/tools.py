"""The tools of a desktop: the verbs of computer use, by point or by reference."""

from __future__ import annotations

from typing import Final

from agentgym.gui.schemas import BUTTON, KEYS, REF, modifiers, points_of, tool
from agentgym.records import Json

_X, _Y = points_of("picture")
_HELD: Final = modifiers("meanwhile")
_SECONDS: Final[dict[str, Json]] = {"type": "number", "minimum": 0, "maximum": 10}
_POINT: Final[Json] = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 2,
    "maxItems": 2,
}

TOOLS: Final = (
    tool(
        "click",
        "Click an element, by its reference or at a point; without either, where the pointer is.",
        ref=REF,
        x=_X,
        y=_Y,
        button=BUTTON,
        count={"type": "integer", "minimum": 1, "maximum": 3, "description": "2 double-clicks."},
        modifiers=_HELD,
    ),
    tool("hover", "Move the pointer over an element or to a point.", ref=REF, x=_X, y=_Y),
    tool(
        "drag",
        "Drag with the left button from one element or point to another, or along a path; "
        "without a start, from where the pointer is.",
        from_ref=REF,
        to_ref=REF,
        from_x=_X,
        from_y=_Y,
        to_x=_X,
        to_y=_Y,
        path={"type": "array", "items": _POINT, "minItems": 2, "maxItems": 50},
        modifiers=_HELD,
    ),
    tool(
        "scroll",
        "Turn the wheel over an element or a point; without either, where the pointer is.",
        ("direction",),
        ref=REF,
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
    tool(
        "type",
        "Type text. With ref, click the element first; a text field is then replaced unless clear "
        "is false. Without ref it goes to what has the focus.",
        ("text",),
        ref=REF,
        text={"type": "string", "maxLength": 5_000},
        clear={"type": "boolean", "description": "Replace what the field holds; default true."},
        submit={"type": "boolean", "description": "Press Enter afterwards; default false."},
    ),
    tool(
        "press",
        "Press keys: one such as Enter or Control+S, or several with spaces between them.",
        ("keys",),
        keys=KEYS,
        ref=REF,
    ),
    tool("hold", "Hold keys down for a while.", ("keys", "seconds"), keys=KEYS, seconds=_SECONDS),
    tool("key_down", "Press a key that stays down until key_up.", ("key",), key=KEYS),
    tool("key_up", "Release a key.", ("key",), key=KEYS),
    tool("mouse_down", "Press a button that stays down until mouse_up.", x=_X, y=_Y, button=BUTTON),
    tool("mouse_up", "Release a button.", x=_X, y=_Y, button=BUTTON),
    tool(
        "wait",
        "Wait while an application works.",
        seconds={**_SECONDS, "description": "Default 1."},
    ),
    tool(
        "screenshot",
        "Return a picture of the screen; with marks, each element carries its reference.",
        marks={"type": "boolean", "description": "Default false."},
    ),
    tool(
        "zoom",
        "Return an enlarged picture of a part of the screen.",
        ("x", "y", "width", "height"),
        x=_X,
        y=_Y,
        width={"type": "number", "exclusiveMinimum": 0},
        height={"type": "number", "exclusiveMinimum": 0},
    ),
    tool("read_clipboard", "Return the text on the clipboard."),
)
"""All tools, in their order."""
