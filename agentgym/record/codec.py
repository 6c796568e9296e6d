"""Converts records to JSON text and back, exactly; encodes pictures as PNG; hashes observations.

A dataclass is written as an object of its fields and read by their annotations (`reading`). Text
is ASCII-escaped, so that lone surrogates and any Unicode survive in files of any kind. Two lone
surrogates that form a pair come back as the character that they encode, because JSON (RFC 8259)
writes both alike.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, cast

import numpy as np
from PIL import Image as Pillow

from agentgym.record.reading import read
from agentgym.records import (
    Action,
    Decision,
    Effect,
    Generation,
    Image,
    Json,
    Nudge,
    Observation,
    TokenUsage,
)
from agentgym.records.json_text import encoder

_PIXELS: Final = 1 << 26


def plain(record: Any) -> dict[str, Any]:
    """Return the fields of a record by name; their values stay unchanged."""
    return {name: getattr(record, name) for name in _names(cast(Hashable, type(record)))}


@functools.cache
def _names(kind: Hashable) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast(Any, kind)))


def _container(value: object) -> object:
    """Convert a record, or another mapping or sequence, to a dict or a list."""
    if is_dataclass(value):
        return plain(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise TypeError(f"a {type(value).__name__} is not a JSON value")


_encoded = encoder(default=_container)
_CANONICAL = json.JSONEncoder(separators=(",", ":"), default=_container, sort_keys=True)


def dumps(value: object) -> str:
    """Write a JSON value, or a record of such values, as one line of ASCII.

    Raises:
        TypeError, ValueError, RecursionError: It holds a value that is not JSON.
    """
    return _encoded(value)


def canonical(value: object) -> str:
    """Write a JSON value with sorted keys: equal values give equal texts."""
    return _CANONICAL.encode(value)


def loads(text: str) -> Any:
    """Read the text that `dumps` wrote."""
    return json.loads(text)


# --- decisions and observations ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Decision:
    """The written form of a decision; its tokens and its generations have columns of their own."""

    action: Action
    thought: str
    reply: Json = None
    nudges: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Observation:
    """The written form of an observation; the name of a blob replaces its picture."""

    text: str
    data: Mapping[str, Json]
    effect: Effect
    image: str | None


def decision_to_text(decision: Decision) -> str:
    """Write a decision as one line of JSON, without its usage and its generations."""
    action = decision.action
    return _encoded(
        {
            "action": {"tool": action.tool, "arguments": action.arguments},
            "thought": decision.thought,
            "reply": decision.reply,
            "nudges": [(nudge.said, nudge.told) for nudge in decision.nudges],
        }
    )


def decision_from_json(
    value: object, usage: TokenUsage, generations: tuple[Generation, ...] | None = None
) -> Decision:
    """Read the JSON value that `decision_to_text` wrote.

    Args:
        value: The JSON value.
        usage: Tokens of the decision.
        generations: Generations of the decision.

    Raises:
        ValueError: The value has another form; the message names the field.
    """
    found = read(_Decision, value, "decision")
    nudges = tuple(Nudge(said, told) for said, told in found.nudges)
    return Decision(found.action, found.thought, usage, found.reply, nudges, generations)


def observation_to_text(observation: Observation, image: str | None = None) -> str:
    """Write an observation as one line of JSON.

    Args:
        observation: The observation.
        image: The name of the blob that holds its picture, None if it has none.
    """
    seen = observation
    return _encoded({"text": seen.text, "data": seen.data, "effect": seen.effect, "image": image})


def observation_from_json(value: object, images: Callable[[str], Image | None]) -> Observation:
    """Read the JSON value that `observation_to_text` wrote.

    Args:
        value: The JSON value.
        images: Called with the name of the picture's blob; returns the picture, None to leave it
            out.

    Raises:
        ValueError: The value has another form; the message names the field.
    """
    found = read(_Observation, value, "observation")
    image = None if found.image is None else images(found.image)
    return Observation(found.text, image, found.data, found.effect)


# --- pictures ------------------------------------------------------------------------------


def png_from_image(image: Image) -> bytes:
    """Compress ``uint8[H, W, 3]`` RGB without loss."""
    buffer = io.BytesIO()
    # The lowest level: half the time of the default for a tenth more bytes on screenshots.
    Pillow.fromarray(image).save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def image_from_png(data: bytes) -> Image:
    """Return the picture of a PNG as ``uint8[H, W, 3]`` RGB.

    Raises:
        OSError, ValueError, SyntaxError: The data is not a PNG, or a damaged one.
    """
    # No other format is accepted, because the reader of one (EPS) runs a program on its input.
    try:
        opened = Pillow.open(io.BytesIO(data), formats=("PNG",))
    except Pillow.DecompressionBombError as error:
        raise ValueError(str(error)) from error
    with opened as picture:
        if picture.width * picture.height > _PIXELS:
            raise ValueError(f"a picture of {picture.width} × {picture.height} pixels is too large")
        return np.array(picture.convert("RGB"))


# --- what replay compares ------------------------------------------------------------------


def masked(observation: Observation, volatile_text: Sequence[str]) -> Observation:
    """Replace all matches of the regular expressions in the text and the data."""
    if not volatile_text:
        return observation
    pattern = re.compile("|".join(f"(?:{part})" for part in volatile_text))

    def mask(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub("*", value)
        if isinstance(value, Mapping):
            return {key: mask(item) for key, item in value.items()}
        if isinstance(value, Sequence):
            return [mask(item) for item in value]
        return value

    return replace(observation, text=mask(observation.text), data=mask(observation.data))


def observation_hash(observation: Observation, volatile_text: Sequence[str] = ()) -> str:
    """Return a SHA-256 over text, data, effect and the pixels, as 64 hex digits.

    Args:
        observation: The observation.
        volatile_text: Regular expressions; their matches do not count.
    """
    seen = masked(observation, volatile_text)
    shape = None if seen.image is None else list(seen.image.shape)
    digest = hashlib.sha256(
        canonical([seen.text, seen.data, seen.effect.value, shape]).encode("ascii")
    )
    if seen.image is not None:
        digest.update(seen.image.tobytes())
    return digest.hexdigest()
