"""Layers of settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hoist.settings import DEFAULTS, LISTS


@dataclass(frozen=True)
class Layer:
    """Settings from one place.

    Attributes:
        name: The place, for users.
        values: Settings by key.
        added: What is added to lists.
    """

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    added: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    value: Any
    source: str


def joined(layers: Iterable[Layer]) -> dict[str, Setting]:
    """Return all settings, from defaults and layers in their order."""
    found = {key: Setting(value, "default") for key, value in DEFAULTS.items()}
    for layer in layers:
        for key, value in layer.values.items():
            if key in LISTS:
                value = _added(found[key].value, value)
            if value and value != DEFAULTS[key]:
                found[key] = Setting(value, layer.name)
        for key, more in layer.added.items():
            found[key] = Setting(_added(found[key].value, more), layer.name)
    return found


def _added(values: list[str], more: list[str]) -> list[str]:
    for value in more:
        if value not in values:
            values.append(value)
    return values
