"""The tools of a browser: their names, descriptions and schemas."""

from __future__ import annotations

from typing import Final

from agentgym.gui.schemas import BUTTON, KEYS, REF, modifiers, points_of, tool
from agentgym.records import Json

_X, _Y = points_of("viewport")
_TAB: Final[Json] = {"type": "integer", "minimum": 1, "description": "Number of a tab."}
_TEXT: Final[Json] = {"type": "string", "maxLength": 20_000}

TOOLS: Final = (
    tool(
        "click",
        "Click an element, by its reference or at a point of the viewport. A point needs x and y.",
        ref=REF,
        x=_X,
        y=_Y,
        button=BUTTON,
        count={"type": "integer", "minimum": 1, "maximum": 3, "description": "2 double-clicks."},
        modifiers=modifiers("during the click"),
    ),
    tool(
        "type",
        "Type text into a field, which it replaces unless clear is false. Without ref it goes to "
        "the focused element. Dates are written 2026-11-23, times 14:30, colours #aabbcc.",
        ("text",),
        ref=REF,
        text=_TEXT,
        clear={"type": "boolean", "description": "Replace what the field holds; default true."},
        submit={"type": "boolean", "description": "Press Enter afterwards; default false."},
    ),
    tool(
        "select",
        "Choose the options of a list, by their labels or values; the others are unselected.",
        ("ref", "values"),
        ref=REF,
        values={"type": "array", "items": {"type": "string"}, "maxItems": 200},
    ),
    tool(
        "press",
        "Press keys: one such as Enter or Control+A, or several with spaces between them.",
        ("keys",),
        keys=KEYS,
        ref=REF,
    ),
    tool("hover", "Move the pointer over an element or a point.", ref=REF, x=_X, y=_Y),
    tool(
        "drag",
        "Drag from one element or point to another.",
        from_ref=REF,
        to_ref=REF,
        from_x=_X,
        from_y=_Y,
        to_x=_X,
        to_y=_Y,
    ),
    tool(
        "scroll",
        "Scroll the page, or the scrollable element that ref names or stands in. With ref and "
        "without direction, the element itself is brought into view. With x and y, what lies there "
        "is scrolled.",
        ref=REF,
        x=_X,
        y=_Y,
        direction={"enum": ["up", "down", "left", "right"]},
        amount={
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 100,
            "description": "In heights or widths of what is scrolled; default 0.8.",
        },
    ),
    tool(
        "upload",
        "Put files into a file field: a text, a file that was downloaded, or one of the computer.",
        ("ref", "files"),
        ref=REF,
        files={
            "type": "array",
            "minItems": 1,
            "maxItems": 10,
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 1, "maxLength": 120},
                    "text": {"type": "string", "maxLength": 1_000_000},
                    "path": {"type": "string", "minLength": 1},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
            "description": "name alone means a downloaded file; path one of the computer.",
        },
    ),
    tool(
        "goto",
        "Open an address in the current tab.",
        ("url",),
        url={"type": "string", "minLength": 1, "maxLength": 2_000},
    ),
    tool("back", "Go back to the last page of the tab."),
    tool("forward", "Go forward again."),
    tool("reload", "Load the page again."),
    tool(
        "tab_new",
        "Open a new tab, at an address if one is given.",
        url={"type": "string", "minLength": 1, "maxLength": 2_000},
    ),
    tool("tab_switch", "Make another tab the current one.", ("tab",), tab=_TAB),
    tool("tab_close", "Close a tab; the current one without a number.", tab=_TAB),
    tool(
        "dialog",
        "Answer the dialog that is open.",
        ("accept",),
        accept={"type": "boolean"},
        text={"type": "string", "maxLength": 2_000, "description": "What a prompt asks for."},
    ),
    tool("read_page", "Return the readable text of the page, all of it."),
    tool(
        "screenshot",
        "Return a picture of the viewport; with marks, each element carries its reference.",
        marks={"type": "boolean", "description": "Default false."},
    ),
    tool(
        "wait",
        "Wait while the page works.",
        seconds={"type": "number", "minimum": 0, "maximum": 10, "description": "Default 1."},
    ),
)
"""All tools, in their order."""
