"""Infos of lanes whose values differ in kind, in the form that Gymnasium gives batched infos.

Gymnasium makes an array of the first value's kind and writes the others into it. A value of
another kind would raise, or be rounded: such arrays become arrays of objects here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def make_room(infos: dict[str, Any], key: str, value: object, lanes: int) -> None:
    """Change what is held under a key, if need be, so that it can hold another value, too.

    Args:
        infos: The batched infos; changed in place.
        key: The key of the value.
        value: What is to be added for one lane.
        lanes: How many lanes there are.
    """
    held = infos.get(key)
    if held is None:
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            infos[key] = np.full(lanes, None, dtype=object)
    elif isinstance(held, dict) != isinstance(value, dict) or not _fits(held, value):
        infos[key] = as_objects(held, infos[f"_{key}"])


def as_objects(held: Any, present: NDArray[np.bool_]) -> NDArray[Any]:
    """Return batched values as an array of objects, with None for the lanes that have none."""
    objects = np.full(len(present), None, dtype=object)
    for lane in np.flatnonzero(present):
        objects[lane] = of_lane(held, int(lane))
    return objects


def of_lane(held: Any, lane: int) -> Any:
    """Return what batched infos, or an array in them, hold for one lane."""
    if isinstance(held, Mapping):
        keys = [key for key in held if f"_{key}" in held and held[f"_{key}"][lane]]
        return {key: of_lane(held[key], lane) for key in keys}
    value = held[lane]
    return value.item() if isinstance(value, np.generic) else value


def _fits(held: Any, value: object) -> bool:
    if isinstance(held, dict) or held.dtype == object:
        return True
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return False
    return type(value) in (bool, int, float) and np.dtype(type(value)) == held.dtype
