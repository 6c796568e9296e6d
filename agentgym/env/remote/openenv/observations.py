"""Reads what a server of OpenEnv answers to a reset or a step."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from agentgym.env.remote.openenv.connection import encodable
from agentgym.records import Effect, Image, Json, Observation, bounds
from agentgym.surfaces.truncation import bounded, pixels, readable

TEXT_CHARS: Final = 60_000
DATA_BYTES: Final = 2**20
SIDE: Final = 2_048
"""Largest side of a picture in pixels; a larger one is scaled down."""

PICTURES: Final = ("image", "screenshot")
"""Fields that may hold a picture as base64."""


def read_observation(told: Mapping[str, Any], effect: Effect) -> Observation:
    """Return what a server shows: its fields as JSON, a picture apart.

    A field ``text``, as agentgym's own servers send it, is shown in place of the JSON, and so are
    the texts that an MCP tool has returned.
    """
    given = told.get("observation")
    fields = dict(given) if isinstance(given, Mapping) else {"observation": given}
    image = None
    for key in PICTURES:
        if image is None and (image := _picture(fields.get(key))) is not None:
            del fields[key]
    data: dict[str, Json] = {}
    left_out, size = [], 2
    for key, value in fields.items():
        more = 0 if bounds.flaw_of(value) else len(json.dumps({key: value})) + 2
        if not more or size + more > DATA_BYTES:
            left_out.append(key[:100])
        else:
            data[key], size = value, size + more
    shown = _text_of(data)
    if left_out:
        shown += f"\n[not shown: {', '.join(left_out[:20])}]"
    return Observation(bounded(encodable(shown), most=TEXT_CHARS), image, data, effect)


def _text_of(data: Mapping[str, Json]) -> str:
    text = data.get("text")
    if isinstance(text, str):
        return text
    result = data.get("result")
    if "tool_name" in data and isinstance(result, Mapping):
        parts = result.get("content")
        said = (
            [one.get("text") for one in parts if isinstance(one, Mapping)]
            if isinstance(parts, list)
            else []
        )
        if said and all(isinstance(one, str) for one in said):
            return "\n".join(map(str, said))
    return readable(dict(data)) if data else ""


def _picture(value: object) -> Image | None:
    """Return the picture in a text of base64; None for any other text."""
    if not isinstance(value, str):
        return None
    try:
        content = base64.b64decode(value.rpartition(";base64,")[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return pixels(content, SIDE, SIDE)


def number_of(reward: object) -> float:
    """Return a reward; 0 for one that is not told."""
    return float(reward) if isinstance(reward, int | float) else 0.0


def is_truncated(told: Mapping[str, Any]) -> bool:
    """Return whether the end is a truncation, where a server says so in one of three places."""
    seen = told.get("observation")
    places: list[Any] = [told, seen]
    places += [one.get("metadata") for one in (told, seen) if isinstance(one, Mapping)]
    return any(isinstance(one, Mapping) and one.get("truncated") is True for one in places)


def error_of(told: Mapping[str, Any]) -> str:
    """Return the status that agentgym's own servers give an episode without a score."""
    seen = told.get("observation")
    metadata = seen.get("metadata") if isinstance(seen, Mapping) else None
    status = metadata.get("status") if isinstance(metadata, Mapping) else None
    return status[:200] if isinstance(status, str) and status.startswith("error:") else ""
