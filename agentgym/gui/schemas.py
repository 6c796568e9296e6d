"""JSON Schemas that the tools of browsers and desktops share."""

from __future__ import annotations

from typing import Final

from agentgym.records import Json, ToolSpec

REF: Final[Json] = {
    "type": "integer",
    "minimum": 1,
    "description": "Reference of an element: the number in brackets in the tree.",
}
BUTTON: Final[Json] = {"enum": ["left", "right", "middle"], "description": "Default left."}
KEYS: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}


def points_of(what: str) -> tuple[Json, Json]:
    """Return the schemas of x and y, in pixels of a picture of `what`."""
    return (
        {"type": "number", "description": f"Pixels from the left of the {what}."},
        {"type": "number", "description": f"Pixels from the top of the {what}."},
    )


def modifiers(when: str) -> Json:
    """Return the schema of modifier keys that are held; `when` says so in words."""
    return {
        "type": "array",
        "items": {"enum": ["Alt", "Control", "Meta", "Shift"]},
        "maxItems": 4,
        "description": f"Keys held {when}.",
    }


def tool(name: str, description: str, required: tuple[str, ...] = (), **given: Json) -> ToolSpec:
    """Return a tool whose arguments are `given` and no others."""
    schema: dict[str, Json] = {
        "type": "object",
        "properties": given,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, description, schema)
